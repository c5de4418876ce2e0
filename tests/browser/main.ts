// npm run test:browser, in web/
import { after, before } from "node:test";
import type { Browser } from "playwright-core";
import { makePages, type Pages } from "../../web/waiting/pages.ts";
import { launch } from "./browser.ts";
import { consoleTests } from "./console.ts";
import { consoleLooks } from "./console_looks.ts";
import { Fake } from "./fake.ts";
import { RealGateway } from "./gateway.ts";
import { pageTests } from "./pages.ts";
import { scenarios } from "./scenarios.ts";

let browser: Browser;
let pages: Pages;
before(async () => {
  browser = await launch();
  pages = await makePages();
});
after(() => browser.close());

scenarios("scripted", () => browser, () => new Fake(pages).start());
pageTests(() => browser, () => pages);
const url = process.env.GATEWAY_URL;
if (url) {
  consoleTests(() => browser);
  consoleLooks(() => browser);
  scenarios("gateway", () => browser, async () => new RealGateway(url));
}
