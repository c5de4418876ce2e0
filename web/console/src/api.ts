// The gateway's API, as api/openapi.json describes it; only what the console reads.

export type Mode = "normal" | "hold" | "open" | "closed";
export type Value = string | number | null;

export interface Place {
  host: string;
  path: string;
}

export interface Room {
  name: string;
  defined: "nginx.conf" | "console";
  mode: Mode;
  inside: number;
  reserved: number; // places kept for those who were inside before a restart
  saved: boolean; // what operators changed
  granted: number;
  waiting: number;
  admitted_total: number;
  abandoned_total: number;
  admissions_per_second: number;
  eta: number | null;
  recovering: boolean;
  store: { kind: string; reachable: boolean };
  settings: Record<string, Value | Place[]> & { capacity: number; attach: Place[] };
  file: Record<string, Value>;
}

export interface Waits {
  p50: number;
  p90: number;
  p99: number;
}

export interface Queue {
  name: string;
  concurrency: number;
  running: number;
  waiting: number;
  totals: Record<string, number>;
  waits: Waits;
  bad_costs: number;
  saved: boolean;
  settings: Record<string, Value>;
  file: Record<string, Value>;
  fixed: Record<string, number | string[]>;
}

export interface Flow {
  network: string;
  session?: string;
  debt: number;
  cost: number;
  running: number;
  waiting: number;
  proven: boolean;
}

export interface TopFlows {
  by_debt: Flow[];
  by_cost: Flow[];
}

export interface Flows {
  outer: TopFlows;
  inner: TopFlows;
}

export interface Health {
  status: "ok" | "warning";
  version: string;
  nginx: string;
  time: number;
  client_address: string;
  host: string;
  store: { kind: string; reachable: boolean; breaker: string; bytes?: number; free_bytes?: number; rebuilt?: number; outages?: number; other_gateways?: number };
  keys: { signing: string; all: string[] };
  settings: { version: number; saved: boolean };
  warnings: { code: string; detail: string }[];
}

export interface Change {
  time: string;
  what: string;
  from: string;
}

// What the gateway says when it refuses (RFC 9457), or that it did not answer: then `status` is 0.
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly field: string | null = null,
  ) {
    super(detail);
  }
}

export interface Answer<T> {
  data: T;
  etag: string | null;
}

const patience = 10_000; // ms

// What programs are told of a value's form says nothing to somebody who fills in a field.
export const forPeople = (detail: string) => detail.replace(/, as a JSON (number|string)/, "");

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { detail, field } = (await response.json()) as { detail?: string; field?: string };
    if (detail) return new Problem(response.status, forPeople(detail), field ?? null);
  } catch {
    // not from Fairway, such as the page of a proxy
  }
  return new Problem(response.status, `The gateway answered ${response.status} ${response.statusText}`.trim() + ".");
}

export async function call<T>(method: string, path: string, body?: unknown, etag?: string | null): Promise<Answer<T>> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (etag) headers["If-Match"] = etag;
  let response: Response;
  try {
    response = await fetch(`api/${path}`, {
      method,
      headers,
      cache: "no-store",
      signal: AbortSignal.timeout(patience),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Problem(0, "The gateway does not answer.");
  }
  if (!response.ok) throw await problemOf(response);
  const data = (response.status === 204 ? null : await response.json()) as T;
  return { data, etag: response.headers.get("ETag") };
}

export const get = <T>(path: string) => call<T>("GET", path);
export const roomPath = (name: string) => `rooms/${encodeURIComponent(name)}`;
export const queuePath = (name: string) => `queues/${encodeURIComponent(name)}`;
export const explain = (error: unknown) => (error instanceof Error ? error.message : String(error));
