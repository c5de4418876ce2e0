// Small things that several pages show.
import type { ComponentChildren } from "preact";
import type { Mode } from "./api.ts";
import { percent } from "./format.ts";

export function Figure({ label, children, note }: { label: string; children: ComponentChildren; note?: string }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {children}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

export function Bar({ part, all, label }: { part: number; all: number; label: string }) {
  const full = percent(part, all);
  return (
    <div class={full >= 100 ? "bar full" : "bar"} role="img" aria-label={label}>
      <span style={{ width: `${full}%` }} />
    </div>
  );
}

const modeWords: Record<Mode, string> = { normal: "Normal", hold: "On hold", open: "Open", closed: "Closed" };

export const ModeBadge = ({ mode }: { mode: Mode }) => <span class={`badge ${mode}`}>{modeWords[mode]}</span>;

export function Note({ kind, children }: { kind: "warn" | "bad" | "good"; children: ComponentChildren }) {
  return <div class={`note ${kind}`} role={kind === "good" ? "status" : "alert"}>{children}</div>;
}

// What stands in a page's place while nothing is known yet.
export function Waiting({ error }: { error: string | null }) {
  return error ? <Note kind="bad">{error}</Note> : <p class="quiet" role="status">Loading…</p>;
}
