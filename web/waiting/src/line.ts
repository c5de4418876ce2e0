// What one page knows about its place in line, and what follows from an answer. Pure: the time (ms) and the dice are passed in.
import type { Answer, State } from "./answer.ts";

export type Kind = "waiting" | "busy" | "closed" | "unavailable";
export type Trouble = "" | "offline" | "unreachable" | "closed" | "lost";
export type Rise = "" | "slower" | "returned";

export interface Line {
  told: Answer; // the last answer that told a place
  first: number; // the rank this visitor began with; 0 when none was told yet
  eta: number | null; // seconds, as shown: upward moves are damped
  rise: Rise; // why the shown estimate went up
  movedAt: number; // when the rank last fell, or standing still was last explained
  heardAt: number; // when a place was last told
  trouble: Trouble;
  misses: number; // answers in a row that did not say when to ask again
  wait: number | null; // seconds to the next question, as told
}

const stillAfter = 120_000;
const longestBackoff = 60; // s
const longestWait = 86_400; // s; a timer cannot hold a month

export function begin(answer: Answer, first: number, now: number): Line {
  return {
    told: answer,
    first: Math.max(first, answer.rank ?? 0),
    eta: answer.eta,
    rise: "",
    movedAt: now,
    heardAt: now,
    trouble: "",
    misses: 0,
    wait: answer.retryAfter,
  };
}

function moved(line: Line, answer: Answer): boolean {
  if (answer.paused || answer.rank === null || line.told.rank === null) return true;
  return answer.rank < line.told.rank;
}

// The estimate follows downward at once and upward by a third of the way, so that one slow minute does not frighten anybody.
function damped(shown: number | null, eta: number | null): number | null {
  return shown === null || eta === null || eta <= shown ? eta : shown + Math.ceil((eta - shown) / 3);
}

function reason(line: Line, answer: Answer, eta: number | null): Rise {
  if (eta === null || line.eta === null || answer.paused) return "";
  const minutes = Math.ceil(eta / 60) - Math.ceil(line.eta / 60);
  if (minutes === 0) return line.rise;
  if (minutes < 0) return "";
  return (answer.rank ?? 0) > (line.told.rank ?? 0) ? "returned" : "slower";
}

function placed(line: Line, answer: Answer, now: number): Line {
  const eta = damped(line.eta, answer.eta);
  return {
    ...line,
    told: answer,
    first: Math.max(line.first, answer.rank ?? 0),
    eta,
    rise: reason(line, answer, eta),
    movedAt: moved(line, answer) ? now : line.movedAt,
    heardAt: now,
    trouble: "",
  };
}

const troubles: Partial<Record<State, Trouble>> = { closed: "closed", unavailable: "unreachable", unknown: "lost" };

export function heard(line: Line, answer: Answer, now: number): Line {
  const next = answer.state === "waiting" ? placed(line, answer, now) : { ...line, trouble: troubles[answer.state] ?? line.trouble };
  return { ...next, wait: answer.retryAfter, misses: answer.retryAfter === null ? line.misses + 1 : 0 };
}

// No answer at all: one blink of the network is not worth a word, two are.
export function missed(line: Line): Line {
  const misses = line.misses + 1;
  return { ...line, misses, wait: null, trouble: misses < 2 ? line.trouble : "offline" };
}

// ms until the next question. `dice` is in [0, 1).
export function pause(line: Line, dice: number): number {
  if (line.wait !== null) return Math.min(Math.max(line.wait, 1), longestWait) * 1000;
  const longest = Math.min(2 ** Math.max(line.misses, 1), longestBackoff);
  return longest * 1000 * (0.5 + dice / 2);
}

// Whether the page is to be loaded anew, since the server would now show another one.
export function shouldReload(kind: Kind, state: State): boolean {
  if (state === "admitted") return true;
  if (kind === "waiting") return state === "unknown";
  if (kind === "closed") return state === "waiting";
  return state === "waiting" || state === "unknown" || state === "closed";
}

// ms before a reload, after `reloads` in a row that did not lead to a place in line: whatever goes wrong, a page never spins.
export function reloadDelay(reloads: number): number {
  return [0, 5_000, 15_000][reloads] ?? 60_000;
}

// How far this visitor has come, 0 to 1.
export function progress(line: Line): number {
  const { rank } = line.told;
  return rank === null || line.first === 0 ? 0 : (line.first + 1 - rank) / (line.first + 1);
}

// Names of what the page has to explain, the most important first; the page shows one.
export function note(line: Line, now: number): string {
  if (line.trouble) return line.trouble;
  if (line.told.paused) return "paused";
  if (line.told.stale) return "stale";
  if (now - line.movedAt >= stillAfter) return "stuck";
  return line.rise;
}

export interface Said {
  note: string;
  rank: number | null;
  at: number;
}

// What a screen reader is told: a new explanation at once; the rank at most once a minute, and only when a quarter of the way or one of
// the last three places is done.
export function announce(line: Line, said: Said, now: number): "" | "note" | "rank" {
  const current = note(line, now);
  if (current !== said.note) return current ? "note" : "rank";
  const { rank } = line.told;
  if (rank === null || now - said.at < 60_000) return "";
  const before = said.rank ?? Infinity;
  return rank <= before * 0.75 || (rank <= 3 && rank < before) ? "rank" : "";
}
