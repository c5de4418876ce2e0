// A live chart of the last 15 minutes.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { clock, hourAndMinute } from "./format.ts";
import type { History } from "./live.ts";
import { seconds, spark } from "./series.ts";

export interface Line {
  name: string; // of the history
  label: string;
  colour: 1 | 2 | 3; // of the style sheet
}

interface ChartProps {
  title: string;
  history: History;
  lines: readonly Line[];
  format: (value: number) => string;
  whole?: boolean; // of counts: no fractions on the axis
  bound?: number | undefined; // a level to be drawn, such as the capacity
}

const height = 150;
const wholeSteps = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const dark = matchMedia("(prefers-color-scheme: dark)");

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function highest(top: number | null, bound: number | undefined): number {
  const most = top ?? 0;
  const near = bound !== undefined && bound <= most * 2 ? Math.max(most, bound) : most;
  return near <= 0 ? 1 : near * 1.08;
}

function drawBound(plot: uPlot, bound: number): void {
  const y = plot.valToPos(bound, "y", true);
  const { left, top, width, height: tall } = plot.bbox;
  if (y < top || y > top + tall) return;
  const { ctx } = plot;
  ctx.save();
  ctx.strokeStyle = css("--soft");
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(left, y);
  ctx.lineTo(left + width, y);
  ctx.stroke();
  ctx.restore();
}

function options(props: () => ChartProps, width: number, point: (at: number | null) => void): uPlot.Options {
  const { lines, format, whole } = props();
  const axis = { stroke: css("--soft"), grid: { stroke: css("--edge"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  return {
    width,
    height,
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    legend: { show: false },
    scales: {
      x: { time: true },
      y: { range: (_plot, _low, high) => [0, highest(high, props().bound)] },
    },
    axes: [
      { ...axis, space: 60, size: 24, values: (_plot, times) => times.map((time) => hourAndMinute(new Date(time * 1000))) },
      { ...axis, space: 32, size: 52, ...(whole ? { incrs: wholeSteps } : {}), values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...lines.map(({ label, colour }) => ({
        label,
        stroke: css(`--line-${colour}`),
        ...(lines.length === 1 ? { fill: css(`--fill-${colour}`) } : {}),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
      })),
    ],
    hooks: {
      setCursor: [(plot) => point(plot.cursor.idx ?? null)],
      draw: [
        (plot) => {
          const { bound } = props();
          if (bound !== undefined) drawBound(plot, bound);
        },
      ],
    },
  };
}

function dataOf({ history, lines }: ChartProps): uPlot.AlignedData {
  const { series } = history;
  return [series.times, ...lines.map(({ name }) => series.columns[name] ?? [])] as uPlot.AlignedData;
}

export function Chart(props: ChartProps) {
  const { title, history, lines, format } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [pointed, point] = useState<number | null>(null); // the second under the pointer
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(options(() => latest.current, element.clientWidth || 300, point), dataOf(latest.current), element);
    };
    make();
    const fit = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    fit.observe(element);
    dark.addEventListener("change", make);
    return () => {
      fit.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [history.series]);
  useEffect(() => {
    const { times } = history.series;
    const now = times.at(-1);
    if (!plot.current || now === undefined) return;
    plot.current.setData(dataOf(latest.current), false);
    plot.current.setScale("x", { min: now - seconds, max: now });
  }, [history.version]);
  const { series } = history;
  const time = pointed === null ? undefined : series.times[pointed];
  const valueOf = (name: string) => (time === undefined || pointed === null ? series.latest(name) : (series.columns[name]?.[pointed] ?? null));
  const counted = series.columns[lines[0]?.name ?? ""]?.filter((value) => value !== null).length ?? 0;
  const said = lines.map(({ name, label }) => `${label} ${format(series.latest(name) ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        {time !== undefined && <time>{clock(new Date(time * 1000))}</time>}
        {lines.map(({ name, label, colour }) => {
          const value = valueOf(name);
          return (
            <b key={name} class={`key line-${colour}`}>
              {lines.length > 1 && <small>{label} </small>}
              {value === null ? "–" : format(value)}
            </b>
          );
        })}
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}, last 15 minutes; now: ${said}`} data-counted={counted} />
    </figure>
  );
}

// The same, small: the shape of what waited.
export function Spark({ history, name, label }: { history: History; name: string; label: string }) {
  return (
    <figure>
      <figcaption class="quiet">{label}, last 15 minutes</figcaption>
      <svg class="spark" viewBox="0 0 90 24" preserveAspectRatio="none" aria-hidden="true">
        <path d={spark(history.series, name, 90, 24)} vector-effect="non-scaling-stroke" />
      </svg>
    </figure>
  );
}
