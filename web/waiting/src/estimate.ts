// An estimate in words. The same rule is in src/page/text.cpp; both are tested with tests/unit/estimates.txt.
import type { Spoken } from "../words/words.ts";

export function fill(pattern: string, values: Record<string, string>): string {
  return pattern.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);
}

// A range from three quarters to five quarters of the estimate; from 20 minutes on in steps of five. `seconds` >= 0.
export function estimate(seconds: number | null, say: Spoken): string {
  if (seconds === null) return say.etaUnknown;
  if (seconds < 60) return say.etaUnder;
  if (seconds >= 86400) return say.etaDay;
  if (seconds >= 7200) return fill(say.etaHours, { hours: String(Math.floor(seconds / 3600)) });
  if (seconds >= 3600) return say.etaHour;
  const even = (minutes: number) => String(minutes < 20 ? minutes : Math.floor((minutes + 2) / 5) * 5);
  return fill(say.etaRange, { low: even(Math.max(1, Math.floor(seconds / 80))), high: even(Math.ceil(seconds / 48)) });
}
