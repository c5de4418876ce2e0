// Normal, hold, open, closed: each says first what it does, and to how many.
import { useState } from "preact/hooks";
import { type Answer, call, type Mode, type Room, roomPath, type Value } from "./api.ts";
import { Confirm } from "./dialog.tsx";
import { count, many, people } from "./format.ts";

interface ModeText {
  mode: Mode;
  label: string;
  action: string;
  danger: boolean;
}

const modes: readonly ModeText[] = [
  { mode: "normal", label: "Normal", action: "Back to normal", danger: false },
  { mode: "hold", label: "Hold", action: "Hold the line", danger: false },
  { mode: "open", label: "Open", action: "Open the room", danger: true },
  { mode: "closed", label: "Close", action: "Close the room", danger: true },
];

// What a mode will do to those who are here now.
export function consequence(mode: Mode, room: Pick<Room, "inside" | "waiting" | "settings">): string {
  const { inside, waiting } = room;
  const { capacity } = room.settings;
  switch (mode) {
    case "normal":
      return `${people(waiting)} in line will be called as there is room: ${many(inside, "session")} of ${many(capacity, "place")} inside.`;
    case "hold":
      return `${people(waiting)} in line will not be called until you end the hold. Newcomers join the line. The ${people(inside)} inside go on.`;
    case "open":
      return `${people(waiting)} in line and everyone who comes will be let in, also above the capacity of ${capacity}. The room does not protect your site while it is open.`;
    case "closed":
      return `${people(waiting)} in line and every newcomer will be told that it is closed. Places in line are kept. The ${people(inside)} inside go on.`;
  }
}

// What a change of the settings will do to those who are here now; null: nothing that needs to be said.
export function effect(body: Record<string, Value>, { inside, waiting }: Pick<Room, "inside" | "waiting">): string | null {
  const { capacity, max_waiting: line } = body;
  if (capacity === 0) return `Nobody comes in any more: ${people(waiting)} in line wait, the ${people(inside)} inside go on.`;
  if (typeof capacity === "number" && capacity < inside) {
    return `Nobody is sent out: the ${people(inside)} inside stay, and nobody comes in until ${count(inside - capacity + 1)} have left.`;
  }
  if (typeof line === "number" && line < waiting) return `The ${people(waiting)} in line keep their places; newcomers are told to come later.`;
  return null;
}

interface ModesProps {
  room: Room;
  etag: string | null;
  look: () => Promise<void>; // counts that are said are those of now
  onDone: (answer: Answer<Room>) => void;
}

export function Modes({ room, etag, look, onDone }: ModesProps) {
  const [asked, setAsked] = useState<ModeText | null>(null);
  return (
    <div class="modes" role="group" aria-label="Mode">
      {modes.map((text) => (
        <button key={text.mode} type="button" aria-pressed={room.mode === text.mode} class={text.mode} onClick={() => room.mode !== text.mode && void look().then(() => setAsked(text))}>
          {text.label}
        </button>
      ))}
      {asked && (
        <Confirm
          title={`${asked.action}?`}
          action={asked.action}
          danger={asked.danger}
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            onDone(await call<Room>("POST", `${roomPath(room.name)}/mode`, { mode: asked.mode }, etag));
            setAsked(null);
          }}
        >
          <p>{consequence(asked.mode, room)}</p>
        </Confirm>
      )}
    </div>
  );
}
