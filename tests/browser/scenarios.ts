// What a visitor goes through, in a real browser: against the scripted gateway, and the same against a real one.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { Gateway } from "./gateway.ts";

const patience = 60_000; // ms for anything to happen

// A visitor with a fresh browser profile; `complaints` collects what the browser has against the page.
export class Visitor {
  readonly complaints: string[] = [];

  private constructor(private readonly context: BrowserContext) {}

  static async come(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
    return new Visitor(await browser.newContext({ locale: "en-US", ...options }));
  }

  async tab(url: string): Promise<Page> {
    const page = await this.context.newPage();
    page.on("console", (message) => {
      const expected = message.text().startsWith("Failed to load resource"); // an answer with status 429
      if (message.type() === "error" && !expected) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.setDefaultTimeout(patience);
    await page.goto(url);
    return page;
  }

  // The session's name in a room that let it in: the fifth field of the pass.
  async session(room: string): Promise<string> {
    const pass = (await this.context.cookies()).find(({ name }) => name === `fairway_pass_${room}`);
    return pass?.value.split(".")[4] ?? "";
  }

  async go(): Promise<void> {
    await this.vanish();
    assert.deepEqual(this.complaints, []);
  }

  // Leaves slot and place behind, whatever happened.
  async vanish(): Promise<void> {
    for (const { name, domain } of await this.context.cookies()) {
      const room = /^fairway_(?:pass|ticket)_(.*)$/.exec(name)?.[1];
      const page = this.context.pages().find((tab) => new URL(tab.url()).hostname === domain);
      if (room && page) await this.context.request.post(new URL(`/__fairway/${room}/leave`, page.url()).href);
    }
    await this.close();
  }

  // Leaves slot and place to time out.
  close(): Promise<void> {
    return this.context.close();
  }
}

const rank = (page: Page) => page.locator("#rank");

export async function rankIs(page: Page, text: string): Promise<void> {
  await rank(page).filter({ hasText: new RegExp(`^${text}$`) }).waitFor();
}

async function isIn(page: Page): Promise<void> {
  await page.locator("#page").waitFor({ state: "detached" });
}

export function pretendHidden(page: Page, hidden: boolean): Promise<void> {
  return page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden ? "hidden" : "visible");
}

export function scenarios(name: string, browser: () => Browser, make: () => Promise<Gateway>): void {
  type Come = (options?: BrowserContextOptions) => Promise<Visitor>;
  const scenario = (title: string, play: (gateway: Gateway, come: Come) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      const gateway = await make();
      const visitors: Visitor[] = [];
      try {
        await play(gateway, async (options) => {
          visitors.push(await Visitor.come(browser(), options));
          return visitors.at(-1)!;
        });
        for (const visitor of visitors) assert.deepEqual(visitor.complaints, []);
      } finally {
        for (const visitor of visitors) await visitor.vanish();
        await gateway.stop();
      }
    });

  scenario("a visitor joins, counts down and gets in by itself", async (gateway, come) => {
    await gateway.fill(2);
    const visitor = await come();
    const page = await visitor.tab(gateway.url);
    await rankIs(page, "3");
    assert.equal(await page.title(), "3 · You are in line");
    await page.locator("#updated").filter({ hasText: /^Last update \d/ }).waitFor();
    await gateway.advance();
    await rankIs(page, "2");
    assert.equal(await page.title(), "2 · You are in line");
    assert.equal(await page.locator("[role=progressbar]").getAttribute("aria-valuenow"), "50.0");
    await gateway.open();
    await isIn(page);
    assert.equal(page.url().replace(/\/$/, ""), gateway.url.replace(/\/$/, ""));
  });

  scenario("without script the page refreshes itself and gets in", async (gateway, come) => {
    await gateway.fill(1);
    const visitor = await come({ javaScriptEnabled: false });
    const page = await visitor.tab(gateway.url);
    await rankIs(page, "2");
    await gateway.advance();
    await rankIs(page, "1");
    await gateway.open();
    await isIn(page);
  });

  for (const javaScriptEnabled of [true, false]) {
    scenario(`leaving ${javaScriptEnabled ? "with" : "without"} script takes two clicks, and nothing brings one back`, async (gateway, come) => {
      await gateway.fill(1);
      const visitor = await come({ javaScriptEnabled });
      const page = await visitor.tab(gateway.url);
      await rankIs(page, "2");
      assert.equal(await page.getByRole("button").count(), 0);
      await page.getByText("Leave the line", { exact: true }).click();
      await page.getByRole("button", { name: "Yes, leave the line" }).click();
      await page.getByRole("heading", { name: "You have left the line" }).waitFor();
      assert.match(page.url(), /\/__fairway\/[a-z0-9-]+\/left$/);
      await page.waitForTimeout(1500);
      assert.match(page.url(), /\/left$/);
      });
  }

  scenario("two tabs share one place and both get in", async (gateway, come) => {
    await gateway.fill(1);
    const visitor = await come();
    const tabs = [await visitor.tab(gateway.url), await visitor.tab(gateway.url)] as const;
    for (const tab of tabs) {
      await rankIs(tab, "2");
      assert.equal(await tab.locator("#waiting").textContent(), "2");
    }
    await gateway.open();
    for (const tab of tabs) await isIn(tab);
  });

  scenario("a tab that comes to the front asks at once", async (gateway, come) => {
    await gateway.fill(1);
    const visitor = await come();
    const page = await visitor.tab(gateway.url);
    await rankIs(page, "2");
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000); // from here on no timer of the page fires by itself
    await page.reload();
    await rankIs(page, "2");
    await gateway.advance();
    await pretendHidden(page, true);
    await pretendHidden(page, false);
    await page.clock.runFor(1);
    await rankIs(page, "1");
  });

  const texts = { "de-AT": ["Sie sind in der Warteschlange", "Ihr Platz"], "ja-JP": ["順番にご案内しています", "あなたの順番"] } as const;
  for (const [locale, [heading, label]] of Object.entries(texts)) {
    scenario(`a browser set to ${locale} sees its language`, async (gateway, come) => {
      await gateway.fill(0);
      const visitor = await come({ locale });
      const page = await visitor.tab(gateway.url);
      await page.getByRole("heading", { name: heading }).waitFor();
      await page.getByText(label, { exact: true }).waitFor();
      assert.equal(await page.locator("html").getAttribute("lang"), locale.slice(0, 2));
      });
  }
}
