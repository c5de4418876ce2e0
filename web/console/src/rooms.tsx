// All rooms at a glance, and making one.
import { useRef, useState } from "preact/hooks";
import { call, explain, Problem, type Room, roomPath } from "./api.ts";
import { Spark } from "./chart.tsx";
import { Dialog } from "./dialog.tsx";
import { newRoom, newRoomFields } from "./fields.ts";
import { Setting } from "./form.tsx";
import { useHistory, useLive } from "./live.ts";
import { ModeBadge, Note, Waiting } from "./parts.tsx";
import { RoomFigures } from "./room.tsx";
import { roomLink } from "./router.ts";

const nameField = { name: "name", label: "Name", hint: "1 to 32 of a-z, 0-9 and -; visitors see it in addresses", kind: "text" } as const;
const hostField = { name: "host", label: "Host", hint: "Such as shop.example.com; empty: attach it later", kind: "text" } as const;
const pathField = { name: "path", label: "Path", hint: "And everything below it", kind: "text" } as const;
const waiting = ["waiting"] as const;
const inDialog = [nameField, ...newRoomFields, hostField, pathField];

function MakeRoom({ taken, onClose }: { taken: readonly string[]; onClose: () => void }) {
  const [texts, setTexts] = useState<Record<string, string>>({ path: "/" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const refuse = (error: Problem) => {
    setProblem(error);
    const field = error.field === "attach" ? "host" : error.field;
    const input = field ? form.current?.elements.namedItem(field) : null;
    if (input instanceof HTMLElement) input.focus();
  };
  const make = async () => {
    const name = (texts["name"] ?? "").trim();
    if (!/^[a-z0-9-]{1,32}$/.test(name)) return refuse(new Problem(422, "1 to 32 of a-z, 0-9 and -.", "name"));
    if (taken.includes(name)) return refuse(new Problem(409, "There is a room of that name.", "name"));
    try {
      await call<Room>("PUT", roomPath(name), newRoom(texts));
      onClose();
      location.hash = roomLink(name);
    } catch (error) {
      refuse(error instanceof Problem ? error : new Problem(0, explain(error)));
    }
  };
  const at = problem?.field === "attach" ? "host" : problem?.field;
  return (
    <Dialog title="Make a room" onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <div class="fields">
          {inDialog.map((field) => (
            <Setting
              key={field.name}
              field={field}
              text={texts[field.name] ?? ""}
              changed={false}
              fileText={null}
              error={problem && at === field.name ? problem.message : null}
              onText={(text) => setTexts({ ...texts, [field.name]: text })}
            />
          ))}
        </div>
        <p class="quiet">It counts where nginx.conf says “waiting_room auto” and the room is attached. “fairway run” says so without --capacity; with it everything belongs to the room “site”.</p>
        {problem && !inDialog.some(({ name }) => name === at) && <Note kind="bad">{problem.message}</Note>}
        <div class="buttons">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary">Make it</button>
        </div>
      </form>
    </Dialog>
  );
}

function RoomCard({ room }: { room: Room }) {
  const history = useHistory(`${roomPath(room.name)}/history`, waiting, 5000);
  return (
    <li class="panel">
      <h2><a href={roomLink(room.name)}>{room.name}</a> <ModeBadge mode={room.mode} /></h2>
      <RoomFigures room={room} />
      <Spark history={history} name="waiting" label="Waiting" />
    </li>
  );
}

export function RoomsPage() {
  const { answer, error } = useLive<{ rooms: Room[] }>("rooms");
  const [making, setMaking] = useState(false);
  if (!answer) return <Waiting error={error} />;
  const { rooms } = answer.data;
  return (
    <>
      <div class="head">
        <h1>Rooms</h1>
        <button type="button" class="primary" onClick={() => setMaking(true)}>Make a room</button>
      </div>
      {error && <Note kind="bad">{error}</Note>}
      {rooms.length === 0 && <p class="panel">There is no room yet. Make one and attach it to a host: visitors beyond its capacity then wait in line.</p>}
      <ul class="cards">
        {rooms.map((room) => (
          <RoomCard key={room.name} room={room} />
        ))}
      </ul>
      {making && <MakeRoom taken={rooms.map(({ name }) => name)} onClose={() => setMaking(false)} />}
    </>
  );
}
