// What an operator goes through in a real browser, against a real gateway, while visitors come.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import type { Health, Room } from "../../web/console/src/api.ts";
import { Client, ConsoleGateway, Crowd, host } from "./console_gateway.ts";
import { pretendHidden, rankIs, Visitor } from "./scenarios.ts";

const patience = 60_000; // ms

async function eventually(holds: () => boolean): Promise<void> {
  for (const until = Date.now() + patience; Date.now() < until && !holds(); ) await new Promise((done) => setTimeout(done, 100));
  assert.ok(holds(), holds.toString());
}

async function hasFocus(element: Locator): Promise<void> {
  let has = false;
  for (const until = Date.now() + patience; !has && Date.now() < until; ) has = await element.evaluate((it) => it === document.activeElement);
  assert.ok(has);
}

const isTheApplication = (page: Page) => page.getByText("the application").waitFor();

const noteOf = (page: Page, text: string) => page.locator(".note").filter({ hasText: text, visible: true });
const dialog = (page: Page) => page.getByRole("dialog");
const figure = (page: Page, label: string) => page.locator(".figure").filter({ has: page.getByText(label, { exact: true }) }).locator("dd");

async function figureIs(page: Page, label: string, text: RegExp): Promise<void> {
  await figure(page, label).filter({ hasText: text }).waitFor();
}

async function save(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByRole("button", { name: "Save", exact: true }).click();
}

async function setMode(page: Page, button: string, action: string, warning: RegExp): Promise<void> {
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: button }).click();
  await dialog(page).getByText(warning).waitFor();
  await dialog(page).getByRole("button", { name: action }).click();
  await dialog(page).waitFor({ state: "detached" });
}

export function consoleTests(browser: () => Browser): void {
  suiteOf(browser, "memory");
  suiteOf(browser, "shared store");
}

// With a store of its own only what depends on it.
function suiteOf(browser: () => Browser, store: "memory" | "shared store"): void {
  let gateway: ConsoleGateway;
  before(async () => {
    gateway = await ConsoleGateway.start(["--concurrency", "4"], store === "shared store");
  });
  after(() => gateway.stop());

  const consoleTest = (title: string, play: (open: (place: string, options?: BrowserContextOptions) => Promise<Page>) => Promise<void>) =>
    test(`console, ${store}: ${title}`, async () => {
      const operators: Visitor[] = [];
      try {
        await play(async (place, options) => {
          operators.push(await Visitor.come(browser(), options));
          return operators.at(-1)!.tab(gateway.url + place);
        });
        for (const operator of operators) assert.deepEqual(operator.complaints, []); // also what the policy forbids
      } finally {
        for (const operator of operators) await operator.vanish();
        for (const { name } of (await gateway.api<{ rooms: Room[] }>("rooms")).rooms) await fetch(`${gateway.url}api/rooms/${name}`, { method: "DELETE" });
      }
    });

  const come = async (count: number) => {
    const clients = Array.from({ length: count }, () => new Client(gateway));
    for (const client of clients) await client.come();
    return clients as [Client, Client, ...Client[]];
  };

  consoleTest("a room is made, attached, filled, widened, held and closed, and each step reaches the visitors", async (open) => {
    const { kind, reachable } = (await gateway.api<Health>("health")).store;
    assert.deepEqual([kind === "memory", reachable], [store === "memory", true]);
    const page = await open("");
    await page.getByText("There is no room yet").waitFor();
    await page.getByRole("button", { name: "Make a room" }).click();
    await dialog(page).getByLabel("Name").fill("sale");
    await dialog(page).getByLabel("Capacity").fill("2");
    await dialog(page).getByLabel("Host").fill("Shop.localhost");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "sale" }).waitFor();
    assert.ok(page.url().endsWith("#/rooms/sale"));
    assert.equal(await page.getByLabel("Host 1").inputValue(), host);

    // who is called while a question is overdue by as long as this loses the turn: more than a busy machine keeps a page waiting
    assert.equal(await gateway.put("rooms/sale", { poll_interval: "4s 5s" }), 200);
    const crowd = new Crowd();
    const visitors: Visitor[] = [];
    const arrive = async () => {
      visitors.push(await Visitor.come(browser()));
      return visitors.at(-1)!.tab(gateway.shop);
    };
    try {
      await crowd.come(gateway, 2);
      const early = await arrive();
      await rankIs(early, "1");
      await crowd.come(gateway, 48);
      const late = await arrive();
      await rankIs(late, "50");
      await figureIs(page, "Inside", /^2of 2$/);
      await figureIs(page, "Waiting", /^50$/);

      await save(page, "Capacity", "20");
      await page.getByText("1 change saved: in effect now.").waitFor();
      await isTheApplication(early);
      await rankIs(late, "32");
      await figureIs(page, "Inside", /^20of 20$/);
      await eventually(() => crowd.told("application") === 19);

      await setMode(page, "Hold", "Hold the line", /^32 people in line will not be called.*20 people inside go on/);
      await page.locator(".badge.hold").waitFor();
      await noteOf(late, "The line is on hold for the moment.").waitFor();
      await save(page, "Capacity", "40");
      await page.getByText("1 change saved: in effect now.").waitFor();
      await noteOf(late, "The line is on hold for the moment.").waitFor();
      assert.deepEqual([crowd.told("application"), crowd.told("waiting")], [19, 31]);

      await page.getByLabel("Session", { exact: true }).fill(await visitors[0]!.session("sale"));
      await page.getByRole("button", { name: "End…" }).click();
      await dialog(page).getByText("This ends 1 person.").waitFor();
      await dialog(page).getByRole("button", { name: "End now" }).click();
      await page.getByText("1 session ended.").waitFor();
      await early.reload();
      await rankIs(early, "33");
      await figureIs(page, "Inside", /^19of 40$/);

      await setMode(page, "Close", "Close the room", /told that it is closed/);
      await noteOf(late, "Nobody is being let in at the moment.").waitFor();
      assert.equal((await new Client(gateway).come()).state, "closed");
      await eventually(() => crowd.told("closed") === 31);
      assert.equal(crowd.told("application"), 19);

      await setMode(page, "Normal", "Back to normal", /will be called as there is room/);
      await figureIs(page, "Inside", /^40of 40$/);
      await save(page, "Capacity", "60");
      await isTheApplication(late);
      await isTheApplication(early);
      await eventually(() => crowd.told("application") === 50);
    } finally {
      await crowd.stop();
      for (const visitor of visitors) await visitor.close();
      for (const visitor of visitors) assert.deepEqual(visitor.complaints, []);
    }

    const chart = page.getByRole("img", { name: /^Inside, last 15 minutes/ });
    const counted = async (least: number) => {
      await page.waitForFunction((n) => Number(document.querySelector("[aria-label^='Inside, last']")?.getAttribute("data-counted")) >= n, least);
      return Number(await chart.getAttribute("data-counted"));
    };
    const before = await counted(5);
    await page.reload();
    assert.ok((await counted(1)) >= before, "what was counted before the reload is still in the chart");

    await page.getByRole("link", { name: "Events" }).click();
    await page.getByText("room sale: mode closed → normal").waitFor();
    await page.getByText(/^room sale made: capacity 0 → 2, attached to 1 place$/).waitFor();
  });

  if (store === "shared store") return;

  consoleTest("a wrong value is told at its field, and nothing is changed", async (open) => {
    await gateway.put("rooms/sale", { capacity: 5 });
    const page = await open("#/rooms/sale");
    await page.getByText("Sessions", { exact: true }).click();
    await page.getByLabel("Refresh").fill("1h");
    await page.getByText("Sessions", { exact: true }).click(); // shut again: the refusal opens it
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const field = page.getByLabel("Refresh");
    await page.locator("#field-refresh-error").filter({ hasText: /half of "session_timeout"/ }).waitFor();
    assert.equal(await field.getAttribute("aria-invalid"), "true");
    await hasFocus(field);
    assert.equal((await gateway.api<Room>("rooms/sale")).settings["refresh"], "15s");
    await page.getByRole("button", { name: "Discard" }).click();
    assert.equal(await field.inputValue(), "15s");

    await page.getByRole("link", { name: "Rooms" }).click();
    await page.getByRole("button", { name: "Make a room" }).click();
    await dialog(page).getByLabel("Name").fill("other");
    await dialog(page).getByLabel("Capacity").fill("plenty");
    await dialog(page).getByRole("button", { name: "Make it" }).click();
    await dialog(page).locator("#field-capacity-error").filter({ hasText: /must be a whole number from \d+ to \d+\.$/ }).waitFor();
    assert.equal((await gateway.api<{ rooms: Room[] }>("rooms")).rooms.length, 1);
  });

  consoleTest("of two operators one is told that the other was faster, and can decide", async (open) => {
    await gateway.put("rooms/sale", { capacity: 5 });
    const page = await open("#/rooms/sale");
    await page.getByLabel("Capacity").fill("50");
    await gateway.put("rooms/sale", { capacity: 7, rate: "3/s" });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Somebody else has changed these settings").waitFor();
    assert.equal((await gateway.api<Room>("rooms/sale")).settings.capacity, 7);
    await figureIs(page, "Inside", /of 7$/);
    await page.getByRole("button", { name: "Save mine over it" }).click();
    await page.getByText("1 change saved: in effect now.").waitFor();
    const { settings } = await gateway.api<Room>("rooms/sale");
    assert.deepEqual([settings.capacity, settings["rate"]], [50, "3/s"]);
    assert.equal(await page.getByLabel("Rate", { exact: true }).inputValue(), "3/s");
  });

  consoleTest("what a dialog says is counted when it opens, and a room without effect says so", async (open) => {
    await gateway.put("rooms/sale", { capacity: 1, attach: [{ host, path: "/" }] });
    await come(2);
    const page = await open("#/rooms/sale");
    await figureIs(page, "Waiting", /^1$/);
    await pretendHidden(page, true); // from here on it asks for nothing by itself
    await page.waitForTimeout(1500);
    await come(2);
    await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "Hold" }).click();
    await dialog(page).getByText(/^3 people in line will not be called/).waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await come(1);
    await page.getByRole("button", { name: "Delete…" }).click();
    await dialog(page).getByText("1 person inside and 4 people in line lose their places.").waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await pretendHidden(page, false);

    const note = page.locator(".note").filter({ hasText: "is attached to nothing" });
    assert.equal(await note.count(), 0);
    await page.getByRole("button", { name: "Remove shop.localhost/" }).click();
    await page.getByRole("button", { name: "Save places" }).click();
    await note.waitFor();
    await page.getByRole("button", { name: "Add a place" }).click();
    await page.getByLabel("Host 1").fill(host);
    await page.getByRole("button", { name: "Save places" }).click();
    await note.waitFor({ state: "detached" });
    await page.getByLabel("Everybody").check();
    await page.getByLabel("Places in line, too").check();
    await page.getByRole("button", { name: "End…" }).click();
    await dialog(page).getByRole("button", { name: "End now" }).click();
    await page.getByText("5 sessions ended.").waitFor();
  });

  consoleTest("everything goes by keyboard: a dialog keeps the focus, and Esc gives it back", async (open) => {
    await gateway.put("rooms/sale", { capacity: 1, attach: [{ host, path: "/" }] });
    await come(3);
    const page = await open("#/rooms/sale");
    await figureIs(page, "Waiting", /^2$/);
    await page.getByLabel("Everybody").check();
    await page.getByLabel("Places in line, too").check();
    const button = page.getByRole("button", { name: "End…" });
    await page.keyboard.press("Tab");
    assert.ok(await button.evaluate((element) => element === document.activeElement && getComputedStyle(element).outlineStyle === "solid"));
    await page.keyboard.press("Enter");
    await dialog(page).getByText("This ends 1 person inside and 2 people in line.").waitFor();
    for (let i = 0; i < 6; ++i) {
      await page.keyboard.press("Tab");
      const outside = await page.evaluate(() => document.activeElement !== document.body && !document.activeElement?.closest("dialog"));
      assert.equal(outside, false, "the focus left the dialog");
    }
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    await hasFocus(button);
    await page.keyboard.press("Enter");
    await dialog(page).getByRole("button", { name: "End now" }).press("Enter");
    await page.getByText("3 sessions ended.").waitFor();
    await figureIs(page, "Inside", /^0of 1$/);
    await page.getByRole("button", { name: "Delete…" }).press("Enter");
    await dialog(page).getByText("0 people inside and 0 people in line lose their places.").waitFor();
    await dialog(page).getByRole("button", { name: "Delete" }).press("Enter");
    await page.getByText("There is no room yet").waitFor();
  });

  consoleTest("a fair queue shows what runs and for whom, and takes new numbers", async (open) => {
    const page = await open("#/queues");
    await page.getByRole("link", { name: "app" }).click();
    await page.getByLabel("Concurrency").fill("1");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await figureIs(page, "Running", /of 1$/);
    await Promise.all(Array.from({ length: 6 }, () => new Client(gateway).ask("/slow")));
    await page.getByRole("cell", { name: "127.0.0.0/24" }).waitFor();
    await page.locator(".list > div").filter({ hasText: "Ran after a wait" }).filter({ hasText: /[1-9]/ }).waitFor();
    await page.getByRole("button", { name: "Back to 4, as in nginx.conf" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await figureIs(page, "Running", /of 4$/);
    assert.deepEqual((await gateway.api<{ file: object }>("queues/app")).file, {});
  });
}
