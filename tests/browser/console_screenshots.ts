// Pictures of the console with a gateway that is busy: npm run screenshots:console -- FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { launch } from "./browser.ts";
import { Client, ConsoleGateway, host } from "./console_gateway.ts";

const folder = process.argv[2] ?? "screenshots";
const seconds = Number(process.argv[3] ?? 20); // how long visitors have been coming when the pictures are taken
mkdirSync(folder, { recursive: true });
const gateway = await ConsoleGateway.start(["--concurrency", "4"]);
const browser = await launch();

await gateway.put("rooms/sale", { capacity: 20, rate: "2/s", message: "Tickets are released at 8 pm.", session_timeout: "10s", refresh: "2s", attach: [{ host, path: "/" }] });
await gateway.put("rooms/checkout", { capacity: 100, attach: [{ host, path: "/checkout" }] });
await gateway.put("rooms/presale", { capacity: 50 });
await gateway.put("rooms/presale/mode", { mode: "hold" }, "POST");
const clients: Client[] = [];
const until = Date.now() + seconds * 1000;
while (Date.now() < until) {
  for (let i = 0; i < 3; ++i) clients.push(new Client(gateway));
  await Promise.all(clients.slice(-12).map((client) => client.come(Math.random() < 0.5 ? "/" : "/slow")));
  await new Promise((done) => setTimeout(done, 300));
}

async function shot(name: string, place: string, options: BrowserContextOptions = {}, act?: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB", ...options });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(name, message.text()));
  page.on("pageerror", (error) => console.log(name, error.message));
  await page.goto(gateway.url + place);
  await page.waitForTimeout(1200);
  await act?.(page);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  await context.close();
}

const phone = { viewport: { width: 320, height: 640 } };
const dark = { colorScheme: "dark" } as const;
await shot("rooms", "#/rooms");
await shot("room", "#/rooms/sale");
await shot("room-dark", "#/rooms/sale", dark);
await shot("room-phone", "#/rooms/sale", phone);
await shot("rooms-phone", "#/rooms", { ...phone, ...dark });
await shot("make", "#/rooms", {}, async (page) => page.getByRole("button", { name: "Make a room" }).click());
await shot("make-phone", "#/rooms", phone, async (page) => page.getByRole("button", { name: "Make a room" }).click());
await shot("hold", "#/rooms/sale", dark, async (page) => page.getByRole("button", { name: "Hold" }).click());
await shot("changed", "#/rooms/sale", {}, async (page) => {
  await page.getByLabel("Rate").fill("lots");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForTimeout(300);
});
await shot("preview", "#/rooms/sale", {}, async (page) => {
  await page.getByText("What visitors see").click();
  await page.waitForTimeout(500);
});
await shot("queues", "#/queues");
await shot("queue", "#/queues/app");
await shot("queue-phone", "#/queues/app", { ...phone, ...dark });
await shot("health", "#/health");
await shot("events", "#/events");
await shot("events-phone", "#/events", phone);
await browser.close();
await gateway.stop();
