// Puts a line into the waiting page.
import { estimate, fill } from "./estimate.ts";
import { announce, type Line, note, progress, type Said } from "./line.ts";
import type { Spoken } from "../words/words.ts";

const longRank = 100_000; // as in src/page/template.cpp

export class View {
  private readonly say: Spoken;
  private readonly number: Intl.NumberFormat;
  private readonly time: Intl.DateTimeFormat;
  private said: Said | null = null;

  constructor(private readonly page: HTMLElement) {
    const language = document.documentElement.lang;
    this.say = JSON.parse(page.dataset.words ?? "{}") as Spoken;
    this.number = new Intl.NumberFormat(language);
    const own = navigator.languages.find((l) => l.startsWith(language)) ?? language; // 14:03 in London, 2:03 PM in New York
    this.time = new Intl.DateTimeFormat(own, { timeStyle: "medium" });
    const ring = document.getElementById("ring");
    ring?.removeAttribute("aria-hidden");
    ring?.setAttribute("role", "progressbar");
    ring?.setAttribute("aria-labelledby", "heading");
  }

  show(line: Line, now: number): void {
    const { rank, waiting, message } = line.told;
    const place = rank === null ? "—" : this.number.format(rank);
    const wait = estimate(line.eta, this.say);
    this.text("rank", place);
    this.text("waiting", waiting === null ? "—" : this.number.format(waiting));
    this.text("eta", wait);
    this.text("message", message ?? "");
    this.text("updated", fill(this.say.updated, { time: this.time.format(line.heardAt) }));
    document.title = fill(this.say.title, { rank: place });
    const current = note(line, now);
    const flags = ["live", current, message ? "" : "silent", rank === null ? "unranked" : rank < longRank ? "" : "long"];
    this.page.className = flags.filter(Boolean).join(" ");
    this.ring(progress(line));
    this.speak(line, now, fill(this.say.spoken, { rank: place, eta: wait }));
  }

  called(): void {
    document.title = this.say.called;
    this.text("heading", this.say.called);
    this.text("spoken", this.say.called);
    this.page.className = "called live silent";
    this.ring(1);
  }

  private text(id: string, text: string): void {
    const element = document.getElementById(id);
    if (element && element.textContent !== text) element.textContent = text;
  }

  private ring(share: number): void {
    const percent = (share * 100).toFixed(1);
    document.getElementById("arc")?.setAttribute("stroke-dasharray", `${percent} 100`);
    document.getElementById("dot")?.setAttribute("stroke-dashoffset", `-${percent}`);
    document.getElementById("ring")?.setAttribute("aria-valuenow", percent);
  }

  private speak(line: Line, now: number, place: string): void {
    const { rank } = line.told;
    const current = note(line, now);
    this.said ??= { note: current, rank, at: now };
    const what = announce(line, this.said, now);
    if (!what) return;
    this.said = { note: current, rank, at: now };
    this.text("spoken", what === "note" ? (this.page.querySelector(`.note.${current}`)?.textContent ?? "") : place);
  }
}
