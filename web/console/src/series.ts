// The last 15 minutes of a room or queue, second by second, put together from answers that each bring what is new.

export interface HistoryAnswer {
  from: number; // Unix time of the first
  to: number;
  [name: string]: number | (number | null)[];
}

export const seconds = 900;

export class Series {
  readonly times: number[] = [];
  readonly columns: Record<string, (number | null)[]> = {};

  constructor(readonly names: readonly string[]) {
    for (const name of names) this.columns[name] = [];
  }

  // The last second that needs not be asked for again: the latest that has a count. The ones after it may still get theirs.
  get since(): number {
    for (let at = this.times.length - 1; at >= 0; --at) {
      if (this.names.some((name) => this.columns[name]?.[at] != null)) return this.times[at] ?? 0;
    }
    return 0;
  }

  take(answer: HistoryAnswer): void {
    const last = this.times.at(-1);
    if (last !== undefined && (answer.from > last + 1 || answer.to < last - seconds)) this.cut(this.times.length);
    const first = this.times[0] ?? answer.from;
    const keep = Math.max(0, Math.min(this.times.length, answer.from - first));
    this.times.length = keep;
    for (let time = answer.from; time <= answer.to; ++time) this.times.push(time);
    for (const name of this.names) {
      const column = (this.columns[name] ??= []);
      const news = answer[name];
      column.length = keep;
      for (let i = 0; i <= answer.to - answer.from; ++i) column.push(Array.isArray(news) ? (news[i] ?? null) : null);
    }
    this.cut(this.times.length - seconds);
  }

  latest(name: string): number | null {
    const column = this.columns[name] ?? [];
    for (let at = column.length - 1; at >= 0; --at) {
      const value = column[at];
      if (value != null) return value;
    }
    return null;
  }

  private cut(count: number): void {
    if (count <= 0) return;
    this.times.splice(0, count);
    for (const name of this.names) this.columns[name]?.splice(0, count);
  }
}

// A small chart as the path of an SVG of `width` by `height`: the highest of each `width`-th part of the last 15 minutes. Empty when
// nothing was counted.
export function spark(series: Series, name: string, width: number, height: number): string {
  const last = series.times.at(-1);
  if (last === undefined) return "";
  const tops: number[] = [];
  series.columns[name]?.forEach((value, at) => {
    if (value === null) return;
    const age = last - (series.times[at] ?? last);
    const column = width - 1 - Math.floor((age / seconds) * width);
    if (column >= 0) tops[column] = Math.max(tops[column] ?? 0, value);
  });
  const highest = Math.max(1, ...tops.filter((top) => top !== undefined));
  const y = (top: number) => Math.round((height - 1 - (top / highest) * (height - 2)) * 10) / 10;
  let path = "";
  let from: number | null = null;
  for (let x = 0; x <= width; ++x) {
    const top = x < width ? tops[x] : undefined;
    if (top !== undefined) {
      path += from === null ? `M${x} ${height}V${y(top)}` : `L${x} ${y(top)}`;
      from ??= x;
      if (tops[x + 1] === undefined) path += `H${x + 1}`;
    } else if (from !== null) {
      path += `V${height}Z`;
      from = null;
    }
  }
  return path;
}
