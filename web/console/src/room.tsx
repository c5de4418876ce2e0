// One room: what goes on in it, and everything that can be changed.
import { useState } from "preact/hooks";
import { type Answer, call, type Health, type Room, roomPath } from "./api.ts";
import { Attach } from "./attach.tsx";
import { Chart } from "./chart.tsx";
import { Confirm } from "./dialog.tsx";
import { Evict } from "./evict.tsx";
import { roomGroups } from "./fields.ts";
import { SettingsForm } from "./form.tsx";
import { count, many, people, rate, span } from "./format.ts";
import { type Live, useHistory, useLive } from "./live.ts";
import { effect, Modes } from "./modes.tsx";
import { Bar, Figure, ModeBadge, Note, Waiting } from "./parts.tsx";
import { Preview } from "./preview.tsx";

const names = ["waiting", "inside", "admissions"] as const;

export function RoomFigures({ room }: { room: Room }) {
  const { capacity } = room.settings;
  return (
    <dl class="figures">
      <Figure label="Inside" note={room.reserved ? `of ${count(capacity)}, ${count(room.reserved)} reserved` : `of ${count(capacity)}`}>
        {count(room.inside)}
        <Bar part={room.inside + room.reserved} all={capacity} label={`${room.inside + room.reserved} of ${capacity} places are taken`} />
      </Figure>
      <Figure label="Waiting">{count(room.waiting)}</Figure>
      <Figure label="Called">{count(room.granted)}</Figure>
      <Figure label="Admissions" note="/s">{rate(room.admissions_per_second)}</Figure>
      <Figure label="Wait if new">{room.eta === 0 ? "none" : span(room.eta)}</Figure>
    </dl>
  );
}

function Charts({ room }: { room: Room }) {
  const history = useHistory(`${roomPath(room.name)}/history`, names);
  return (
    <div class="charts">
      <Chart title="Waiting" history={history} whole format={count} lines={[{ name: "waiting", label: "Waiting", colour: 2 }]} />
      <Chart title="Inside" history={history} whole format={count} bound={room.settings.capacity} lines={[{ name: "inside", label: "Inside", colour: 1 }]} />
      <Chart title="Admissions each second" history={history} whole format={count} lines={[{ name: "admissions", label: "Admissions", colour: 3 }]} />
    </div>
  );
}

function Delete({ answer, look }: { answer: Answer<Room>; look: () => Promise<void> }) {
  const [asking, setAsking] = useState(false);
  const room = answer.data;
  const remove = async () => {
    await call("DELETE", roomPath(room.name), undefined, answer.etag);
    location.hash = "#/rooms";
  };
  return (
    <section class="panel">
      <h2>Delete this room</h2>
      <p class="quiet">It was made in the console. Its settings, its line and everybody's place go with it.</p>
      <button type="button" class="danger" onClick={() => void look().then(() => setAsking(true))}>Delete…</button>
      {asking && (
        <Confirm title={`Delete ${room.name}?`} action="Delete" danger onConfirm={remove} onClose={() => setAsking(false)}>
          <p>{people(room.inside)} inside and {people(room.waiting)} in line lose their places. Whoever comes next goes straight to your site.</p>
        </Confirm>
      )}
    </section>
  );
}

export function RoomPage({ name, health }: { name: string; health: Live<Health> }) {
  const { answer, error, refresh, show, look } = useLive<Room>(roomPath(name));
  if (!answer) return <Waiting error={error} />;
  const room = answer.data;
  const unattached = health.answer?.data.warnings.find(({ code, detail }) => code === "room_unattached" && detail.startsWith(`Room ${name} `));
  const attached = (saved: Answer<Room>) => {
    show(saved);
    health.refresh();
  };
  return (
    <>
      <div class="head">
        <h1>{room.name} <ModeBadge mode={room.mode} /></h1>
        <Modes room={room} etag={answer.etag} look={look} onDone={show} />
      </div>
      {error && <Note kind="bad">{error}</Note>}
      {!room.store.reachable && <Note kind="bad">The store does not answer: nobody new comes in.</Note>}
      {room.recovering && <Note kind="warn">The line is being rebuilt after a loss: nobody is called for the moment.</Note>}
      {room.reserved > 0 && <Note kind="warn">{many(room.reserved, "place is", "places are")} kept for those who were inside before a restart, until they come back or their session timeout has passed.</Note>}
      {unattached && <Note kind="warn">{unattached.detail} So it has no effect.</Note>}
      <RoomFigures room={room} />
      <Charts room={room} />
      <div class="columns">
        <section class="panel" aria-labelledby="settings-title">
          <h2 id="settings-title">Settings</h2>
          <SettingsForm path={roomPath(name)} answer={answer} groups={roomGroups} inFile={room.defined === "nginx.conf"} effect={(body) => effect(body, room)} onSaved={show} />
        </section>
        <div>
          <Attach answer={answer} onSaved={attached} />
          <Evict room={room} look={look} onDone={refresh} />
          <Preview name={name} message={String(room.settings["message"] ?? "")} />
          {room.defined === "console" && <Delete answer={answer} look={look} />}
          <p class="quiet totals">
            {count(room.admitted_total)} admitted and {count(room.abandoned_total)} abandoned in all; defined {room.defined === "console" ? "in the console" : "in nginx.conf"}.
          </p>
        </div>
      </div>
    </>
  );
}
