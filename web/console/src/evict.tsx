// Ending sessions: one, those of a network, or all; on request places in line, too.
import { useState } from "preact/hooks";
import { call, type Room, roomPath } from "./api.ts";
import { Confirm } from "./dialog.tsx";
import { many, people } from "./format.ts";

export type Target = "sid" | "network" | "all";

const labels: Record<Target, string> = { sid: "One session", network: "A network", all: "Everybody" };

// How many it hits: exact for one and for all; a network's share is not counted beforehand.
export function hits(target: Target, line: boolean, room: Pick<Room, "inside" | "waiting">): string {
  const { inside, waiting } = room;
  if (target === "sid") return "1 person";
  const most = line ? `${people(inside)} inside and ${people(waiting)} in line` : `${people(inside)} inside`;
  return target === "all" ? most : `those of this network among ${most}`;
}

export function problemOfTarget(target: Target, text: string): string | null {
  if (target === "sid" && !/^[0-9a-f]{32}$/.test(text)) return "A session is 32 hex digits: $waiting_room_session in your access log.";
  if (target === "network" && text === "") return "A network is such as 203.0.113.0/24 or 2001:db8:1::/48.";
  return null;
}

export function Evict({ room, look, onDone }: { room: Room; look: () => Promise<void>; onDone: () => void }) {
  const [target, setTarget] = useState<Target>("sid");
  const [text, setText] = useState("");
  const [line, setLine] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const [said, setSaid] = useState("");
  const choose = (next: Target) => {
    setTarget(next);
    setError(null);
  };
  const ask = () => {
    const problem = problemOfTarget(target, text.trim());
    setError(problem);
    setSaid("");
    if (!problem) void look().then(() => setAsking(true));
  };
  const evict = async () => {
    const whom = target === "all" ? { all: true } : { [target]: text.trim() };
    const { data } = await call<{ ended: number }>("POST", `${roomPath(room.name)}/evict`, { ...whom, ...(line ? { line } : {}) });
    setAsking(false);
    setSaid(data.ended ? `${many(data.ended, "session")} ended.` : "Nobody was ended: there is no such session.");
    onDone();
  };
  return (
    <section class="panel" aria-labelledby="evict-title">
      <h2 id="evict-title">End sessions</h2>
      <form
        class="evict"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <fieldset class="choice">
          <legend>Whose</legend>
          {(Object.keys(labels) as Target[]).map((name) => (
            <label key={name}>
              <input type="radio" name="target" checked={target === name} onChange={() => choose(name)} /> {labels[name]}
            </label>
          ))}
        </fieldset>
        {target !== "all" && (
          <div class="setting">
            <label for="evict-text">{target === "sid" ? "Session" : "Network"}</label>
            <input
              id="evict-text"
              type="text"
              autoComplete="off"
              spellcheck={false}
              value={text}
              placeholder={target === "sid" ? "32 hex digits" : "203.0.113.0/24"}
              aria-invalid={error !== null}
              aria-describedby="evict-error"
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <small id="evict-error" class="problem" role={error ? "alert" : undefined}>{error}</small>
          </div>
        )}
        <label class="check">
          <input type="checkbox" checked={line} onChange={(event) => setLine(event.currentTarget.checked)} /> Places in line, too
        </label>
        <button type="submit" class="danger">End…</button>
      </form>
      <p class="said" role="status">{said}</p>
      {asking && (
        <Confirm title={`End ${labels[target].toLowerCase()}?`} action="End now" danger onClose={() => setAsking(false)} onConfirm={evict}>
          <p>This ends {hits(target, line, room)}. They are refused at once and start anew at the end of the line.</p>
        </Confirm>
      )}
    </section>
  );
}
