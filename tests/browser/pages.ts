// What needs a gateway that does as it is told: failures, times, and the looks of every page.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Browser, Page, Request } from "playwright-core";
import { kinds, type Pages } from "../../web/waiting/pages.ts";
import { languages, words } from "../../web/waiting/words/all.ts";
import { contrasts } from "./contrast.ts";
import { Fake } from "./fake.ts";
import { pretendHidden, rankIs, Visitor } from "./scenarios.ts";

// A page whose clock stands still but for `untilAsked`.
interface Stopped {
  visitor: Visitor;
  page: Page;
  untilAsked: (times: number) => Promise<number>; // lets the clock run until it has asked `times` more; the ms that passed on it
}

async function stop(visitor: Visitor, url: string, init = ""): Promise<Stopped> {
  const page = await visitor.tab("about:blank");
  await page.addInitScript(init);
  let asked = 0;
  let answered = 0;
  const isQuestion = (request: Request) => request.url().endsWith("/status");
  page.on("request", (request) => (asked += isQuestion(request) ? 1 : 0));
  for (const event of ["requestfinished", "requestfailed"] as const) {
    page.on(event as "requestfinished", (request) => (answered += isQuestion(request) ? 1 : 0));
  }
  const settle = () =>
    page.evaluate(async () => {
      for (let turn = 0; turn < 5; ++turn) {
        const { port1, port2 } = new MessageChannel();
        const task = new Promise((done) => (port1.onmessage = done));
        port2.postMessage(0);
        await task;
      }
    });
  const untilAsked = async (times: number) => {
    const wanted = asked + times;
    for (let passed = 250; passed <= 200_000; passed += 250) {
      await page.clock.runFor(250);
      await settle();
      while (answered < asked) await page.waitForTimeout(5);
      await settle();
      if (asked >= wanted) return passed;
    }
    throw new Error(`not asked ${times} times`);
  };
  await page.clock.install({ time: new Date("2026-05-04T12:00:00Z") });
  await page.clock.pauseAt(new Date("2026-05-04T12:00:01Z"));
  await page.goto(url);
  return { visitor, page, untilAsked };
}

const fits = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

export function pageTests(browser: () => Browser, pages: () => Pages): void {
  const fakeTest = (title: string, play: (fake: Fake) => Promise<void>) =>
    test(`pages: ${title}`, async () => {
      const fake = await new Fake(pages()).start();
      try {
        await play(fake);
      } finally {
        await fake.stop();
      }
    });

  const stopped = async (fake: Fake) => stop(await Visitor.come(browser()), fake.url);

  fakeTest("the place asked for is told again as often as the answer says, also when it is a 429 or 503", async (fake) => {
    fake.place.retry_after = 7;
    const { visitor, page, untilAsked } = await stopped(fake);
    const near = (passed: number, seconds: number) => assert.ok(passed >= seconds * 1000 && passed <= seconds * 1000 + 500, `${passed}`);
    near(await untilAsked(1), 7);
    for (const status of [429, 503]) {
      fake.reply = { status, headers: { "Content-Type": "application/json" }, body: '{"state":"busy","retry_after":20}' };
      await untilAsked(1);
      near(await untilAsked(1), 20);
      await rankIs(page, "1,342"); // a busy answer takes nothing away
    }
    fake.reply = { status: 503, headers: { "Retry-After": "11" }, body: "<html>busy</html>" };
    await untilAsked(1);
    near(await untilAsked(1), 11);
    await visitor.go();
  });

  fakeTest("a broken network is asked ever more rarely, up to a minute, and the page says so", async (fake) => {
    fake.reply = "broken";
    fake.place.retry_after = 1;
    const { visitor, page, untilAsked } = await stopped(fake);
    await untilAsked(1);
    const note = page.locator(".note.offline");
    assert.equal(await note.isVisible(), false);
    for (const longest of [2, 4, 8, 16, 32, 60, 60]) {
      const passed = await untilAsked(1);
      assert.ok(passed >= longest * 500 && passed <= longest * 1000 + 500, `${passed} of ${longest} s`);
    }
    assert.equal(await note.isVisible(), true);
    fake.reply = null;
    await untilAsked(1);
    await note.waitFor({ state: "hidden" });
    await visitor.go();
  });

  fakeTest("a closed or unreachable line is explained in place, without a reload", async (fake) => {
    fake.place.retry_after = 1;
    const visitor = await Visitor.come(browser());
    const page = await visitor.tab(fake.url);
    for (const [state, note] of [["closed", "closed"], ["unavailable", "unreachable"]] as const) {
      fake.state = state;
      await page.locator(`.note.${note}`).waitFor();
    }
    fake.state = "waiting";
    fake.place = { ...fake.place, paused: true, rank: null, eta: null, message: "Back <b>soon</b> & \"safe\"" };
    await page.locator(".note.paused").waitFor();
    await rankIs(page, "—");
    assert.equal(await page.locator("#message").textContent(), fake.place.message);
    assert.equal(fake.count("GET /"), 1);
    await visitor.go();
  });

  fakeTest("a lost place is looked for by one reload, and a page never spins", async (fake) => {
    fake.place.retry_after = 1;
    fake.state = "unknown";
    const { visitor, page } = await stopped(fake);
    for (let second = 0; second < 40; ++second) {
      try {
        await page.clock.runFor(1000);
      } catch (error) {
        if (!/navigat|destroyed/.test(String(error))) throw error; // a reload came in between
      }
      await page.waitForTimeout(50); // for the answer, and for a reload
      await page.waitForLoadState();
    }
    assert.ok(fake.count("GET /") >= 2 && fake.count("GET /") <= 4, `${fake.count("GET /")} loads in 40 s`);
    await visitor.go();
  });

  fakeTest("the title says so when the turn has come", async (fake) => {
    fake.place.retry_after = 1;
    const visitor = await Visitor.come(browser());
    const page = await visitor.tab(fake.url);
    let release = () => {};
    fake.hold = new Promise((done) => (release = done));
    await fake.open();
    const saysSo = (called: string) => document.title === called && document.querySelector("[role=status]")?.textContent === called;
    await page.waitForFunction(saysSo, words.en.spoken.called);
    release();
    await page.getByRole("heading", { name: "Welcome in" }).waitFor();
    await visitor.go();
  });

  fakeTest("standing still is explained after two minutes, and said to screen readers once", async (fake) => {
    fake.place.retry_after = 30;
    const { visitor, page, untilAsked } = await stopped(fake);
    await untilAsked(3);
    const note = page.locator(".note.stuck");
    assert.equal(await note.isVisible(), false);
    await untilAsked(1);
    await note.waitFor();
    assert.equal(await page.locator("[role=status]").textContent(), words.en.stuck);
    await visitor.go();
  });

  for (const language of languages) {
    fakeTest(`why a wait grew and that the line is on hold is said in ${language}, one at a time`, async (fake) => {
      fake.place = { ...fake.place, rank: 300, eta: 420, retry_after: 1 };
      const visitor = await Visitor.come(browser(), { locale: language });
      const page = await visitor.tab(fake.url);
      await page.locator("#updated").filter({ hasText: /\d/ }).waitFor();
      assert.equal(await page.locator(".note:visible").count(), 0);
      const explains = async (text: string) => {
        await page.locator(".note:visible").filter({ hasText: text }).waitFor();
        assert.equal(await page.locator(".note:visible").count(), 1);
      };
      const say = words[language];
      fake.place = { ...fake.place, eta: 1800 };
      await explains(say.slower);
      fake.place = { ...fake.place, rank: 301, eta: 3600 };
      await explains(say.returned);
      fake.place = { ...fake.place, paused: true, eta: null };
      await explains(say.paused);
      await page.locator("#eta").filter({ hasText: say.spoken.etaUnknown }).waitFor();
      fake.place = { ...fake.place, paused: false, rank: 290, eta: 400 };
      await page.locator(".note:visible").waitFor({ state: "detached" });
      await visitor.go();
    });
  }

  for (const kind of ["busy", "unavailable"] as const) {
    fakeTest(`the ${kind} page goes on by itself, with and without script`, async (fake) => {
      for (const javaScriptEnabled of [true, false]) {
        fake.kind = kind;
        fake.inside = false;
        fake.state = kind;
        fake.place.retry_after = 1;
        const visitor = await Visitor.come(browser(), { javaScriptEnabled });
        const page = await visitor.tab(fake.url);
        await page.getByRole("heading", { name: words.en[`${kind}Heading`] }).waitFor();
        fake.kind = "waiting";
        fake.state = "unknown";
        await rankIs(page, "1,342");
        await visitor.go();
      }
    });
  }

  fakeTest("the pages that wait for the visitor stay as they are", async (fake) => {
    for (const kind of ["left", "cookies", "unprocessed", "closed"] as const) {
      fake.kind = kind;
      fake.state = kind === "closed" ? "closed" : "unknown";
      const before = fake.count("GET /");
      const { visitor, page } = await stopped(fake);
      await page.clock.runFor(120_000);
      assert.equal(fake.count("GET /"), before + 1, kind);
      await visitor.go();
    }
  });

  fakeTest("one question at a time, however often the tab comes to the front", async (fake) => {
    fake.place.retry_after = 5;
    const { visitor, page, untilAsked } = await stopped(fake);
    let release = () => {};
    fake.holdStatus = new Promise((done) => (release = done));
    for (let i = 0; i < 8; ++i) {
      await pretendHidden(page, true);
      await pretendHidden(page, false);
      await page.clock.runFor(1000);
    }
    assert.equal(fake.statusCount(), 1);
    release();
    await untilAsked(1);
    assert.equal(fake.statusCount(), 2);
    await visitor.go();
  });

  fakeTest("a page that is only being prepared does not ask, and asks at once when it is shown", async (fake) => {
    fake.place.retry_after = 5;
    const visitor = await Visitor.come(browser());
    const { page } = await stop(visitor, fake.url, "Object.defineProperty(document, 'prerendering', { configurable: true, get: () => true })");
    await page.clock.runFor(60_000);
    assert.equal(fake.statusCount(), 0);
    fake.place.rank = 7;
    await page.evaluate(() => document.dispatchEvent(new Event("prerenderingchange")));
    await page.clock.runFor(1);
    await rankIs(page, "7");
    assert.equal(fake.statusCount(), 1);
    await visitor.go();
  });

  fakeTest("what one tab hears the others know, and leaving in one ends the others", async (fake) => {
    fake.place.retry_after = 5;
    const visitor = await Visitor.come(browser());
    const first = await stop(visitor, fake.url);
    const others = [await stop(visitor, fake.url), await stop(visitor, fake.url)];
    fake.place.rank = 1000;
    await first.untilAsked(1);
    for (const { page } of others) await rankIs(page, "1,000");
    assert.equal(fake.statusCount(), 1);
    await first.page.getByText(words.en.leave, { exact: true }).click();
    await first.page.getByRole("button", { name: words.en.leaveConfirm }).click();
    for (const { page } of others) {
      await page.locator(".note.lost").waitFor();
      await page.clock.runFor(60_000);
      await page.locator(".note.lost").waitFor();
    }
    assert.equal(fake.statusCount(), 1);
    await visitor.go();
  });

  fakeTest("every page fits a phone of 320 px and has enough contrast, in light and dark", async (fake) => {
    fake.place = { ...fake.place, rank: 1234567, waiting: 2345678, retry_after: 60, message: "A".repeat(80) };
    for (const colorScheme of ["light", "dark"] as const) {
      const visitor = await Visitor.come(browser(), { colorScheme, viewport: { width: 320, height: 640 } });
      const page = await visitor.tab("about:blank");
      for (const kind of kinds) {
        fake.kind = kind;
        await page.goto(fake.url);
        await page.evaluate(() => {
          document.querySelector("details")?.setAttribute("open", "");
          for (const note of document.querySelectorAll<HTMLElement>(".note")) note.style.setProperty("display", "block");
        });
        assert.ok(await fits(page), `${kind} is too wide`);
        const found = await page.evaluate(contrasts);
        assert.ok(found.length >= 3, `${kind}: ${found.length} texts`);
        for (const { text, ratio, needed } of found) assert.ok(ratio >= needed, `${kind} ${colorScheme}: ${ratio.toFixed(2)} for "${text}"`);
      }
      await visitor.go();
    }
  });

  fakeTest("no language is too wide for a phone, and the server's words are the script's", async (fake) => {
    fake.place.retry_after = 60;
    for (const language of languages) {
      const texts = [];
      for (const javaScriptEnabled of [false, true]) {
        fake.kind = "waiting";
        const visitor = await Visitor.come(browser(), { locale: language, javaScriptEnabled, viewport: { width: 320, height: 640 } });
        const page = await visitor.tab(fake.url);
        texts.push([await page.title(), ...(await page.locator("#rank, #eta, #waiting").allTextContents())]);
        for (const kind of javaScriptEnabled ? kinds : []) {
          fake.kind = kind;
          await page.goto(fake.url);
          assert.equal(await page.locator("html").getAttribute("lang"), language);
          assert.ok(await fits(page), `${kind} ${language}`);
        }
        await visitor.go();
      }
      assert.deepEqual(texts[0], texts[1]);
    }
  });
}
