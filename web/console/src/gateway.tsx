// The gateway itself: health with its warnings, and the latest changes.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Change, Health } from "./api.ts";
import { bytes, count, moment } from "./format.ts";
import { type Live, useLive } from "./live.ts";
import { Note, Waiting } from "./parts.tsx";

const Row = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div>
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
);

export function HealthPage({ live: { answer, error } }: { live: Live<Health> }) {
  if (!answer) return <Waiting error={error} />;
  const health = answer.data;
  const { store, keys } = health;
  return (
    <>
      <div class="head"><h1>Health</h1></div>
      {error && <Note kind="bad">{error}</Note>}
      {health.warnings.length === 0 && <Note kind="good">The gateway finds nothing wrong.</Note>}
      {health.warnings.map((warning) => (
        <Note key={`${warning.code} ${warning.detail}`} kind="warn">
          {warning.detail} <code>{warning.code}</code>
        </Note>
      ))}
      <div class="columns even">
        <section class="panel">
          <h2>Store</h2>
          <dl class="list">
            <Row label="Kind">{store.kind}</Row>
            <Row label="Reachable">{store.reachable ? "yes" : "no"}</Row>
            <Row label="Breaker">{store.breaker === "open" ? "open: the store is not asked" : "closed"}</Row>
            {store.bytes !== undefined && store.free_bytes !== undefined && (
              <Row label="Memory">{bytes(store.bytes - store.free_bytes)} of {bytes(store.bytes)} in use</Row>
            )}
            {store.outages !== undefined && <Row label="Outages since the start">{count(store.outages)}</Row>}
            {store.other_gateways !== undefined && <Row label="Other gateways">{count(store.other_gateways)}</Row>}
            {store.rebuilt !== undefined && <Row label="Rebuilt">{count(store.rebuilt)} times</Row>}
          </dl>
        </section>
        <section class="panel">
          <h2>Gateway</h2>
          <dl class="list">
            <Row label="Fairway">{health.version}</Row>
            <Row label="nginx">{health.nginx}</Row>
            <Row label="Its time">{moment(new Date(health.time * 1000), new Date())}</Row>
            <Row label="Signing key">{keys.signing}</Row>
            <Row label="Keys that verify">{keys.all.join(", ")}</Row>
            <Row label="Changes made">{count(health.settings.version)}, {health.settings.saved ? "saved" : "not saved: lost at a restart"}</Row>
          </dl>
        </section>
        <section class="panel">
          <h2>You, as Fairway sees you</h2>
          <dl class="list">
            <Row label="Address">{health.client_address}</Row>
            <Row label="Host">{health.host}</Row>
          </dl>
          <p class="quiet">If this is the address of a proxy rather than yours, set nginx's real_ip: rooms and queues tell clients apart by it.</p>
        </section>
      </div>
    </>
  );
}

const shownAtFirst = 100;

export function EventsPage() {
  const { answer, error } = useLive<{ events: Change[] }>("events", 3000);
  const [wanted, setWanted] = useState("");
  const [all, setAll] = useState(false);
  if (!answer) return <Waiting error={error} />;
  const found = answer.data.events.filter(({ what, from }) => `${what} ${from}`.toLowerCase().includes(wanted.trim().toLowerCase()));
  const now = new Date();
  return (
    <>
      <div class="head">
        <h1>Events</h1>
        <input type="search" aria-label="Filter" placeholder="Filter" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </div>
      {error && <Note kind="bad">{error}</Note>}
      {found.length === 0 && <p class="panel">{wanted ? "Nothing of that kind." : "Nothing has been changed yet."}</p>}
      <ol class="events">
        {found.slice(0, all ? found.length : shownAtFirst).map((event, at) => (
          <li key={found.length - at}>
            <time dateTime={event.time}>{moment(new Date(event.time), now)}</time>
            <span>{event.what}</span>
            <small>{event.from}</small>
          </li>
        ))}
      </ol>
      {!all && found.length > shownAtFirst && <button type="button" onClick={() => setAll(true)}>Show all {count(found.length)}</button>}
    </>
  );
}
