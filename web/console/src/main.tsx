// The console: what the API below it offers, for a browser.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import type { Health } from "./api.ts";
import { EventsPage, HealthPage } from "./gateway.tsx";
import { type Live, useLive } from "./live.ts";
import { QueuePage, QueuesPage } from "./queue.tsx";
import { RoomPage } from "./room.tsx";
import { RoomsPage } from "./rooms.tsx";
import { type Route, useRoute } from "./router.ts";

const titles = { rooms: "Rooms", room: "Room", queues: "Queues", queue: "Queue", health: "Health", events: "Events" } as const;

function Page({ route, health }: { route: Route; health: Live<Health> }) {
  switch (route.page) {
    case "rooms":
      return <RoomsPage />;
    case "room":
      return <RoomPage key={route.name} name={route.name} health={health} />;
    case "queues":
      return <QueuesPage />;
    case "queue":
      return <QueuePage key={route.name} name={route.name} />;
    case "health":
      return <HealthPage live={health} />;
    case "events":
      return <EventsPage />;
  }
}

function Console() {
  const route = useRoute();
  const health = useLive<Health>("health", 5000);
  const warnings = health.answer?.data.warnings.length ?? 0;
  const name = "name" in route ? route.name : titles[route.page];
  useEffect(() => {
    document.title = `${name} · Fairway`;
  }, [name]);
  const link = (page: "rooms" | "queues" | "health" | "events", inside = "") => (
    <a href={`#/${page}`} aria-current={route.page === page ? "page" : route.page === inside ? "true" : undefined}>
      {titles[page]}
      {page === "health" && warnings > 0 && <span class="count" title={`${warnings} warnings`}>{warnings}<span class="unseen"> warnings</span></span>}
    </a>
  );
  return (
    <>
      <header>
        <a class="brand" href="#/rooms">Fairway</a>
        <nav aria-label="Console">
          {link("rooms", "room")}
          {link("queues", "queue")}
          {link("health")}
          {link("events")}
        </nav>
        <span class={health.error ? "pulse lost" : "pulse"}>{health.error ? "no answer" : "live"}</span>
      </header>
      <main>
        <Page route={route} health={health} />
      </main>
    </>
  );
}

const place = document.getElementById("app");
if (place) render(<Console />, place);
