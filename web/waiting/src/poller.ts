// Asks the status endpoint when it is told to: one question at a time, never more than one a second.
import { type Answer, readAnswer } from "./answer.ts";

const patience = 20_000; // ms for one answer
const shortest = 1_000; // ms between two questions, however often a tab is brought to the front

export class Poller {
  private timer = 0;
  private asking = false;
  private askedAt = 0;
  private stopped = false;

  // `heard` gets null when there was no answer.
  constructor(
    private readonly url: string,
    private readonly heard: (answer: Answer | null) => void,
  ) {}

  after(ms: number): void {
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = window.setTimeout(() => void this.ask(), ms);
  }

  now(): void {
    this.after(Math.max(0, this.askedAt + shortest - Date.now()));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  restart(): void {
    this.stopped = false;
    this.now();
  }

  private async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    this.askedAt = Date.now();
    const answer = await this.fetch();
    this.asking = false;
    if (!this.stopped) this.heard(answer);
  }

  private async fetch(): Promise<Answer | null> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), patience);
    try {
      const response = await fetch(this.url, {
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
}
