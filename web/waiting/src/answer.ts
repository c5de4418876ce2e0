// What the status endpoint answers. Nothing in it is trusted to be there.
export const states = ["waiting", "admitted", "busy", "closed", "unavailable", "unknown"] as const;
export type State = (typeof states)[number];

export interface Answer {
  state: State;
  rank: number | null; // 1: next in
  waiting: number | null;
  eta: number | null; // seconds
  retryAfter: number | null; // seconds
  paused: boolean;
  stale: boolean;
  message: string | null;
}

function count(value: unknown, least: number): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= least ? value : null;
}

function isState(value: unknown): value is State {
  return states.some((state) => state === value);
}

// Null when `body` is not an answer of ours.
export function readBody(body: unknown): Answer | null {
  if (typeof body !== "object" || body === null) return null;
  const told = body as Record<string, unknown>;
  if (!isState(told.state)) return null;
  return {
    state: told.state,
    rank: count(told.rank, 1),
    waiting: count(told.waiting, 0),
    eta: count(told.eta, 0),
    retryAfter: count(told.retry_after, 0),
    paused: told.paused === true,
    stale: told.stale === true,
    message: typeof told.message === "string" && told.message !== "" ? told.message : null,
  };
}

// Any HTTP answer: `body` is the text, `retryAfter` the header. A proxy in between may answer in its own words; a 404 means that the
// room is no more. Null when it says neither.
export function readAnswer(status: number, retryAfter: string | null, body: string): Answer | null {
  let parsed: unknown = null;
  try {
    parsed = JSON.parse(body);
  } catch {
    // not ours
  }
  const answer = readBody(parsed);
  const told = retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null;
  if (answer) return { ...answer, retryAfter: answer.retryAfter ?? told };
  const state = status === 404 ? "unknown" : told === null ? null : "unavailable";
  return state && { state, rank: null, waiting: null, eta: null, retryAfter: told, paused: false, stale: false, message: null };
}
