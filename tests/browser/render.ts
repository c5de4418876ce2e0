// Fills a built template as src/page/template.cpp does, so that the pages can be tried without a gateway.
import { estimate } from "../../web/waiting/src/estimate.ts";
import type { Language } from "../../web/waiting/words/all.ts";
import { words } from "../../web/waiting/words/all.ts";
import type { Kind, Pages } from "../../web/waiting/pages.ts";

export interface Place {
  rank: number | null;
  waiting: number;
  eta: number | null;
  retry_after: number;
  paused: boolean;
  stale: boolean;
  message: string | null;
}

export const room = "sale";

export function json(place: Place, state: string): string {
  const { rank, waiting, eta, ...rest } = place;
  return JSON.stringify({ room, state, ...(state === "waiting" ? { rank, waiting, eta } : {}), ...rest });
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function flags({ rank, message, paused, stale }: Place): string {
  const set = { paused, stale, unranked: rank === null, long: (rank ?? 0) >= 100_000, silent: !message };
  return Object.entries(set).flatMap(([name, on]) => (on ? [name] : [])).join(" ");
}

export function render(pages: Pages, kind: Kind, language: Language, place: Place): string {
  const number = new Intl.NumberFormat(language);
  const values: Record<string, string> = {
    room,
    status_url: `/__fairway/${room}/status`,
    leave_url: `/__fairway/${room}/leave`,
    retry_url: "/shop",
    rank: place.rank === null ? "—" : number.format(place.rank),
    waiting: number.format(place.waiting),
    eta: estimate(place.eta, words[language].spoken),
    message: place.message ?? "",
    retry_after: String(place.retry_after),
    lang: language,
    json: json(place, "waiting"),
    flags: flags(place),
  };
  const fixed: Record<string, string> = { style: pages.style, script: pages.script };
  return pages.templates[kind][language].replace(/\{\{(\w+)\}\}/g, (whole, name: string) => {
    return fixed[name] ?? (values[name] === undefined ? whole : escape(values[name]));
  });
}
