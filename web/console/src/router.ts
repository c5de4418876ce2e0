// Where the operator is, kept in the address behind "#": it can be bookmarked, and Back works.
import { useEffect, useState } from "preact/hooks";

export type Route =
  | { page: "rooms" | "queues" | "health" | "events" }
  | { page: "room" | "queue"; name: string };

export function parseRoute(hash: string): Route {
  const [page = "", name = ""] = hash.replace(/^#\/?/, "").split("/");
  if (page === "queues" || page === "health" || page === "events") {
    if (page === "queues" && name) return { page: "queue", name: decode(name) };
    return { page };
  }
  return page === "rooms" && name ? { page: "room", name: decode(name) } : { page: "rooms" };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const roomLink = (name: string) => `#/rooms/${encodeURIComponent(name)}`;
export const queueLink = (name: string) => `#/queues/${encodeURIComponent(name)}`;

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const moved = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return route;
}
