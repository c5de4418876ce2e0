// How the console looks: on a phone, in the dark, and what it shows of the visitor's pages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { words } from "../../web/waiting/words/all.ts";
import { Client, ConsoleGateway, host } from "./console_gateway.ts";
import { contrasts } from "./contrast.ts";

async function looksRight(page: Page, name: string): Promise<void> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
  let found = await page.evaluate(contrasts);
  for (let i = 0; i < 600 && found.length < 10; ++i) { // until the gateway has answered
    await page.waitForTimeout(100);
    found = await page.evaluate(contrasts);
  }
  assert.ok(found.length >= 10, `${name}: ${found.length} texts`);
  for (const { text, ratio, needed } of found) assert.ok(ratio >= needed && ratio <= 21, `${name}: ${ratio.toFixed(2)} for "${text}"`);
}

export function consoleLooks(browser: () => Browser): void {
  let gateway: ConsoleGateway;
  before(async () => {
    gateway = await ConsoleGateway.start(["--concurrency", "4"]);
    await gateway.put("rooms/sale", { capacity: 1, message: "Doors open at noon", attach: [{ host, path: "/" }] });
    await gateway.put("rooms/the-longest-name-there-can-be-32", { capacity: 1_000_000 });
    await gateway.put("rooms/the-longest-name-there-can-be-32/mode", { mode: "hold" }, "POST");
    for (let i = 0; i < 3; ++i) await new Client(gateway).come("/slow");
  });
  after(() => gateway.stop());

  const places = ["#/rooms", "#/rooms/sale", "#/rooms/the-longest-name-there-can-be-32", "#/queues", "#/queues/app", "#/health", "#/events"];
  for (const colorScheme of ["light", "dark"] as const) {
    test(`console: every page fits a phone of 320 px and has enough contrast, ${colorScheme}`, async () => {
      const context = await browser().newContext({ colorScheme, viewport: { width: 320, height: 640 }, locale: "en-GB", reducedMotion: "reduce" });
      const page = await context.newPage();
      for (const place of places) {
        await page.goto(gateway.url + place);
        await page.locator("h1").waitFor();
        await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
        if (place.includes("queues/")) await page.getByRole("cell", { name: "127.0.0.0/24" }).waitFor();
        await looksRight(page, `${place} ${colorScheme}`);
      }
      await page.goto(`${gateway.url}#/rooms/sale`);
      await page.getByLabel("Rate", { exact: true }).fill("fast");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.locator("#field-rate-error").filter({ hasText: /./ }).waitFor();
      await looksRight(page, `a refusal ${colorScheme}`);
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("dialog").waitFor();
      await looksRight(page, `a dialog ${colorScheme}`);
      await context.close();
    });
  }

  test("console: the preview shows the visitor's page with the room's message, and makes no visitor", async () => {
    const context = await browser().newContext({ locale: "de-DE" });
    const page = await context.newPage();
    await page.goto(`${gateway.url}#/rooms/sale`);
    await page.getByText("What visitors see").click();
    const shown = page.frameLocator("iframe.preview");
    await shown.getByText("Doors open at noon").waitFor();
    await shown.getByRole("heading", { name: "Sie sind in der Warteschlange" }).waitFor();
    await page.getByRole("button", { name: "Closed", exact: true }).click();
    await shown.getByRole("heading", { name: words.de.closedHeading }).waitFor();
    assert.deepEqual(await context.cookies(), []);
    await context.close();
  });

  test("console: a gateway that is gone is told, and found again", async () => {
    const context = await browser().newContext({ locale: "en-GB" });
    const page = await context.newPage();
    await page.goto(`${gateway.url}#/rooms/sale`);
    await page.locator(".pulse", { hasText: "live" }).waitFor();
    await page.route("**/api/**", (route) => route.abort());
    await page.getByText("The gateway does not answer.").waitFor();
    await page.unroute("**/api/**");
    await page.getByText("The gateway does not answer.").waitFor({ state: "detached" });
    await context.close();
  });
}
