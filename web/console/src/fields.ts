// The settings that can be changed while nginx runs, as the console's forms show them. What is allowed is the gateway's to say.
import type { Place, Value } from "./api.ts";

export interface Field {
  name: string;
  label: string;
  hint: string;
  kind: "number" | "text" | "long" | readonly string[]; // a list: one of these
}

export interface Group {
  title: string;
  fields: readonly Field[];
}

const onOff = ["on", "off"] as const;

export const roomGroups: readonly Group[] = [
  {
    title: "How many come in",
    fields: [
      { name: "capacity", label: "Capacity", hint: "Sessions inside at most; 0 lets nobody in", kind: "number" },
      { name: "rate", label: "Rate", hint: "Admissions at most: 50/s, 300/m or off", kind: "text" },
      { name: "max_waiting", label: "Longest line", hint: "Waiting at most; beyond it visitors see the busy page", kind: "number" },
      { name: "message", label: "Message", hint: "Your words to those who wait, at once on their page", kind: "long" },
    ],
  },
  {
    title: "Sessions",
    fields: [
      { name: "session_timeout", label: "Session timeout", hint: "A slot ends this long after the last request", kind: "text" },
      { name: "session_max", label: "Longest session", hint: "Counted from admission; or off", kind: "text" },
      { name: "grant_timeout", label: "Grant timeout", hint: "A called visitor who does not come loses the slot", kind: "text" },
      { name: "abandon_timeout", label: "Abandon timeout", hint: "A waiter overdue by this long leaves the line", kind: "text" },
      { name: "return_grace", label: "Return grace", hint: "Who is back within this gets the old number back", kind: "text" },
      { name: "refresh", label: "Refresh", hint: "A pass younger than this needs no store call", kind: "text" },
      { name: "bind_network", label: "Bind to network", hint: "Pass and ticket hold in one network only", kind: onOff },
    ],
  },
  {
    title: "Limits of clients",
    fields: [
      { name: "entries_per_ip", label: "New sessions per address", hint: "60/m, or off", kind: "text" },
      { name: "polls_per_session", label: "Questions per session", hint: "3/s", kind: "text" },
      { name: "poll_interval", label: "Poll interval", hint: "Shortest and longest: 3s 30s", kind: "text" },
    ],
  },
  {
    title: "Answers and cookies",
    fields: [
      { name: "page_status", label: "Page status", hint: "HTTP status of the waiting page", kind: ["200", "202", "429", "503"] },
      { name: "on_store_failure", label: "When the store fails", hint: "Closed: newcomers are held; open: they go through", kind: ["closed", "open"] },
      { name: "cookie_domain", label: "Cookie domain", hint: "Empty: this host alone", kind: "text" },
      { name: "cookie_secure", label: "Secure cookies", hint: "Auto: when the request is https", kind: ["auto", "on", "off"] },
    ],
  },
];

export const queueGroups: readonly Group[] = [
  {
    title: "How much runs and waits",
    fields: [
      { name: "concurrency", label: "Concurrency", hint: "Requests at the upstream at once", kind: "number" },
      { name: "size", label: "Size", hint: "Requests waiting at most", kind: "number" },
      { name: "timeout", label: "Timeout", hint: "Longest wait, then 503", kind: "text" },
      { name: "light_lane", label: "Light lane", hint: "Slots for light flows alone; a number, or off", kind: "text" },
    ],
  },
  {
    title: "Fairness",
    fields: [
      { name: "order", label: "Order", hint: "fifo: by arrival, for comparison", kind: ["fair", "fifo"] },
      { name: "burst", label: "Burst", hint: "What a flow may spend before it queues behind others", kind: "text" },
      { name: "max_debt", label: "Most debt", hint: "Kept when a flow comes back", kind: "text" },
      { name: "debt_ttl", label: "Debt lifetime", hint: "Idle debt is forgotten by then", kind: "text" },
      { name: "probation", label: "Probation", hint: "Unproven clients share one flow", kind: onOff },
      { name: "outer_prefix", label: "Network size", hint: "Bits of an address: IPv4 IPv6, such as 24 56", kind: "text" },
      { name: "inner_address", label: "Address splits a network", hint: "The full address is part of a session's key", kind: onOff },
    ],
  },
  {
    title: "Cost the application reports",
    fields: [
      { name: "cost_header", label: "Cost header", hint: "A response header, or off", kind: "text" },
      { name: "cpu_header", label: "CPU header", hint: "A response header, or off", kind: "text" },
    ],
  },
];

export const fieldsOf = (groups: readonly Group[]) => groups.flatMap((group) => group.fields);

// What stands in the input for a value of the API.
export const shown = (value: unknown) => (value === null || value === undefined ? "" : String(value));

// What is sent for what stands in the input. A text where a number should be goes as it is: the gateway says what is allowed.
export function sent(field: Field, text: string): Value {
  const numeric = field.kind === "number" || (Array.isArray(field.kind) && field.name === "page_status");
  if (numeric && /^\d{1,15}$/.test(text.trim())) return Number(text.trim());
  if (field.kind === "long") return text; // empty: none, whatever nginx.conf says
  return text.trim() === "" ? null : text.trim();
}

// The fields whose text differs from the value they had, as PUT takes them. What stands at the file's own value again goes back to it.
export function changes(
  fields: readonly Field[],
  texts: Record<string, string>,
  settings: Record<string, unknown>,
  file: Record<string, unknown>,
): Record<string, Value> {
  const body: Record<string, Value> = {};
  for (const field of fields) {
    const text = texts[field.name];
    if (text === undefined || text === shown(settings[field.name])) continue;
    body[field.name] = field.name in file && text === shown(file[field.name]) ? null : sent(field, text);
  }
  return body;
}

// What the dialog for a new room asks of its settings; the others have their defaults.
export const newRoomFields = fieldsOf(roomGroups).filter(({ name }) => ["capacity", "rate", "message"].includes(name));

// What PUT takes to make the room that the texts describe.
export function newRoom(texts: Record<string, string>): Record<string, Value | Place[]> {
  const body: Record<string, Value | Place[]> = {};
  for (const field of newRoomFields) {
    const value = sent(field, texts[field.name] ?? "");
    if (value !== null && value !== "") body[field.name] = value;
  }
  const host = (texts["host"] ?? "").trim();
  if (host) body["attach"] = [{ host, path: (texts["path"] ?? "").trim() || "/" }];
  return body;
}
