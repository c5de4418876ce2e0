// The thin layer between line.ts and the document. The page is complete without it.
import { type Answer, readBody } from "./answer.ts";
import { begin, heard, type Kind, type Line, missed, pause, reloadDelay, shouldReload } from "./line.ts";
import { remember } from "./memory.ts";
import { poll } from "./poller.ts";
import { viewOf } from "./view.ts";

interface News {
  answer?: Answer;
  left?: true;
}

const page = document.getElementById("page") as HTMLElement;
const { kind = "waiting", room = "", status = "", retry = "" } = page.dataset as Partial<Record<string, string>> & { kind?: Kind };
const memory = remember(room);
const tabs = "BroadcastChannel" in window ? new BroadcastChannel(`fairway:${room}`) : null;
const view = kind === "waiting" ? viewOf(page) : null;
const poller = poll(status, onAnswer);

const nothing: Answer = { state: kind, rank: null, waiting: null, eta: null, retryAfter: Number(retry) || 1, paused: false, stale: false, message: null };
let line: Line = begin(readBody(JSON.parse(page.dataset.answer ?? "null")) ?? nothing, memory.get("first"), Date.now());
let reloading = false;

function reload(): void {
  if (reloading) return;
  reloading = true;
  poller.stop();
  const recent = Date.now() - memory.get("reloadedAt") < 120_000;
  const reloads = recent && kind === "waiting" ? memory.get("reloads") : 0;
  setTimeout(() => {
    memory.set("reloads", reloads + 1);
    memory.set("reloadedAt", Date.now());
    location.reload();
  }, reloadDelay(reloads));
}

function forget(): void {
  memory.set("first", 0);
}

function take(answer: Answer): void {
  line = heard(line, answer, Date.now());
  if (answer.state === "waiting") {
    memory.set("first", line.first);
    memory.set("reloads", 0);
  }
  if (answer.state === "admitted") {
    forget();
    view?.called();
  } else {
    if (answer.state === "unknown") forget();
    view?.show(line, Date.now());
  }
  if (shouldReload(kind, answer.state)) reload();
}

function onAnswer(answer: Answer | null): void {
  if (answer) {
    take(answer);
    tabs?.postMessage({ answer } satisfies News);
  } else {
    line = missed(line);
    view?.show(line, Date.now());
  }
  if (!reloading) poller.after(pause(line, Math.random()));
}

// Another tab of the same visitor has asked: its answer is ours too, and our own question can wait.
tabs?.addEventListener("message", (event: MessageEvent<News>) => {
  const { answer, left } = event.data;
  if (left) {
    poller.stop();
    forget();
    line = { ...line, trouble: "lost" };
    view?.show(line, Date.now());
  }
  if (!answer || reloading) return;
  take(answer);
  if (!reloading) poller.after(pause(line, Math.random()) + 500 * Math.random());
});

page.querySelector("form")?.addEventListener("submit", () => {
  poller.stop();
  forget();
  tabs?.postMessage({ left: true } satisfies News);
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") poller.now();
});
document.addEventListener("prerenderingchange", () => poller.restart());
addEventListener("online", () => poller.now());
addEventListener("pageshow", (event) => {
  if (event.persisted) poller.restart();
});

memory.set("first", line.first);
view?.show(line, Date.now());
if ((document as { prerendering?: boolean }).prerendering) poller.stop();
else poller.after(pause(line, Math.random()));
