// Pictures of every page: npm run screenshots -- FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions } from "playwright-core";
import { type Kind, kinds, makePages } from "../../web/waiting/pages.ts";
import { launch } from "./browser.ts";
import { Fake } from "./fake.ts";

const folder = process.argv[2] ?? "screenshots";
mkdirSync(folder, { recursive: true });
const fake = await new Fake(await makePages()).start();
const browser = await launch();

async function shot(name: string, options: BrowserContextOptions, open = false): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 760 }, locale: "en-GB", ...options });
  const page = await context.newPage();
  await page.addInitScript("sessionStorage.setItem('fairway:sale:first', '2210')");
  await page.goto(fake.url);
  if (open) await page.locator("summary").click();
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}

const message = "The last tickets are released at 8 pm. Everyone in line by then will get a chance.";
const phone = { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2 };
fake.place.retry_after = 30;
fake.place.message = message;
await shot("light", {});
await shot("dark", { colorScheme: "dark" });
await shot("readme", { viewport: { width: 920, height: 760 }, deviceScaleFactor: 2 });
await shot("noscript", { javaScriptEnabled: false });
fake.place.message = null;
await shot("phone", phone);
await shot("leaving", { viewport: { width: 390, height: 844 }, colorScheme: "dark" }, true);
await shot("german", { locale: "de-DE" });
await shot("japanese", { locale: "ja-JP" });
await shot("korean", { locale: "ko-KR" });
await shot("phone-german", { ...phone, locale: "de-DE" });
fake.place = { ...fake.place, rank: null, eta: null, paused: true };
await shot("paused", { colorScheme: "dark" });
fake.place.stale = true;
await shot("unsure", {});
fake.place = { ...fake.place, stale: false, rank: 1234567, waiting: 2345678, eta: 20000, paused: false };
await shot("long", { ...phone, locale: "fr-FR" });
for (const kind of kinds.filter((k: Kind) => k !== "waiting")) {
  fake.kind = kind;
  await shot(kind, kind === "closed" || kind === "left" ? { colorScheme: "dark" } : {});
}
await browser.close();
await fake.stop();
