// Numbers and times in words.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (n: number) => whole.format(n);

// A rate: one digit behind the point while it is small.
export const rate = (n: number) => (n >= 100 ? whole : tenth).format(n);

// "1 person", "2 people": a number with its noun.
export function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

export const people = (n: number) => many(n, "person", "people");

// A duration in seconds, in the two largest units: "45 s", "7 min", "2 h 5 min", "3 d 4 h".
export function span(seconds: number | null): string {
  if (seconds === null) return "unknown";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const units: [string, number][] = [["d", 86_400], ["h", 3600], ["min", 60]];
  const at = units.findIndex(([, size]) => seconds >= size);
  const [name, size] = units[at] as [string, number];
  const next = units[at + 1];
  const rest = next ? Math.floor((seconds % size) / next[1]) : 0;
  return `${Math.floor(seconds / size)} ${name}` + (next && rest ? ` ${rest} ${next[0]}` : "");
}

// A wait in seconds, exact where it is short: "3 ms", "1.25 s".
export function wait(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 60 ? `${Math.round(seconds * 100) / 100} s` : span(seconds);
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (n >= 1024 && at < units.length - 1) {
    n /= 1024;
    ++at;
  }
  return `${tenth.format(n)} ${units[at]}`;
}

const pad = (n: number) => String(n).padStart(2, "0");

// The time of day in the browser's zone, the same everywhere in the console, as logs have it: "14:03", "14:03:09".
export const hourAndMinute = (time: Date) => `${pad(time.getHours())}:${pad(time.getMinutes())}`;
export const clock = (time: Date) => `${hourAndMinute(time)}:${pad(time.getSeconds())}`;

// Of a moment: the time of day, with the date unless it is today's.
export function moment(time: Date, now: Date): string {
  if (time.toDateString() === now.toDateString()) return clock(time);
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${clock(time)}`;
}

// How full, for a bar: 0 to 100.
export function percent(part: number, all: number): number {
  if (all <= 0) return part > 0 ? 100 : 0;
  return Math.min(100, (part / all) * 100);
}
