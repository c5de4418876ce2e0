// Asks the status endpoint when it is told to: one question at a time, never more than one a second.
import { type Answer, readAnswer } from "./answer.ts";

const patience = 20_000; // ms for one answer
const shortest = 1_000; // ms between two questions, however often a tab is brought to the front

async function ask(url: string): Promise<Answer | null> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patience);
  try {
    const response = await fetch(url, {
      credentials: "same-origin",
      cache: "no-store",
      headers: { Accept: "application/json" },
      signal: abort.signal,
    });
    return readAnswer(response.status, response.headers.get("Retry-After"), await response.text());
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

// `heard` gets null when there was no answer. `after` is in ms; after `stop` nothing is asked until `restart`.
export function poll(url: string, heard: (answer: Answer | null) => void) {
  let timer = 0;
  let asking = false;
  let askedAt = 0;
  let stopped = false;

  async function once(): Promise<void> {
    if (asking) return;
    asking = true;
    askedAt = Date.now();
    const answer = await ask(url);
    asking = false;
    if (!stopped) heard(answer);
  }
  function after(ms: number): void {
    clearTimeout(timer);
    if (!stopped) timer = window.setTimeout(() => void once(), ms);
  }
  function now(): void {
    after(Math.max(0, askedAt + shortest - Date.now()));
  }
  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }
  function restart(): void {
    stopped = false;
    now();
  }
  return { after, now, stop, restart };
}
