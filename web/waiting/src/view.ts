// Puts a line into the waiting page.
import type { Spoken } from "../words/words.ts";
import { estimate, fill } from "./estimate.ts";
import { announce, type Line, note, progress, type Said } from "./line.ts";

const longRank = 100_000; // as in src/page/template.cpp
const unknown = "—";

const find = (id: string) => document.getElementById(id) as HTMLElement;

function write(id: string, text: string): void {
  if (find(id).textContent !== text) find(id).textContent = text;
}

function draw(share: number): void {
  const percent = (share * 100).toFixed(1);
  find("arc").setAttribute("stroke-dasharray", `${percent} 100`);
  find("dot").setAttribute("stroke-dashoffset", `-${percent}`);
  find("ring").setAttribute("aria-valuenow", percent);
}

export function viewOf(page: HTMLElement) {
  const say = JSON.parse(page.dataset.words ?? "") as Spoken;
  const language = document.documentElement.lang;
  const own = navigator.languages.find((wanted) => wanted.startsWith(language)) ?? language; // 14:03 in London, 2:03 PM in New York
  const number = new Intl.NumberFormat(language);
  const time = new Intl.DateTimeFormat(own, { hour: "numeric", minute: "2-digit", second: "2-digit" });
  let said: Said | null = null;

  find("ring").removeAttribute("aria-hidden");
  find("ring").setAttribute("role", "progressbar");
  find("ring").setAttribute("aria-labelledby", "place");

  function speak(line: Line, now: number, place: string): void {
    const current = note(line, now);
    const before = (said ??= { note: current, rank: line.told.rank, at: now });
    const what = announce(line, before, now);
    if (!what) return;
    said = { note: current, rank: line.told.rank, at: now };
    write("spoken", what === "note" ? (page.querySelector(`.note.${current}`)?.textContent ?? "") : place);
  }

  function show(line: Line, now: number): void {
    const { rank, waiting, message } = line.told;
    const place = rank === null ? unknown : number.format(rank);
    const wait = estimate(line.eta, say);
    write("rank", place);
    write("waiting", waiting === null ? unknown : number.format(waiting));
    write("eta", wait);
    write("message", message ?? "");
    write("updated", fill(say.updated, { time: time.format(line.heardAt) }));
    document.title = fill(say.title, { rank: place });
    const flags = ["live", note(line, now), message ? "" : "silent", rank === null ? "unranked" : rank < longRank ? "" : "long"];
    page.className = flags.filter(Boolean).join(" ");
    draw(progress(line));
    find("ring").setAttribute("aria-valuetext", place);
    speak(line, now, fill(say.spoken, { rank: place, eta: wait }));
  }

  function called(): void {
    document.title = say.called;
    write("heading", say.called);
    write("spoken", say.called);
    page.className = "live silent";
    draw(1);
  }
  return { show, called };
}
