import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds, makePages } from "../pages.ts";
import { languages, words } from "../words/all.ts";

const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("every language has the same places in its patterns, and words of its own", () => {
  for (const language of languages.filter((l) => l !== "en")) {
    for (const [name, english] of Object.entries(words.en.spoken)) {
      const own = new Map(Object.entries(words[language].spoken)).get(name) ?? "";
      assert.deepEqual(places(own), places(english), `${language} ${name}`);
    }
    for (const [name, english] of Object.entries(words.en)) {
      const own = new Map<string, unknown>(Object.entries(words[language])).get(name);
      if (typeof english === "string" && name !== "mark") assert.ok(own && own !== english, `${language} ${name}`);
    }
  }
});

test("pages ask for nothing from outside and hold no script but the one that is allowed", async () => {
  const pages = await makePages();
  for (const kind of kinds) {
    for (const language of languages) {
      const html = pages.templates[kind][language];
      assert.doesNotMatch(html, /\[\[|(src|srcset)=|@import|url\(|\son\w+=|\sstyle=|javascript:/i, `${kind} ${language}`);
      for (const [, href] of html.matchAll(/href="([^"]*)"/g)) assert.match(href ?? "-", /^(|\/|data:.*|\{\{retry_url\}\})$/);
      assert.equal(html.split("<script").length, html.includes("<script>{{script}}</script>") ? 2 : 1);
    }
  }
  assert.doesNotMatch(pages.script + pages.style, /https?:\/\/|url\((?!#)/);
});

test("only pages that go on by themselves do so without script", async () => {
  const { templates } = await makePages();
  const refreshing = kinds.filter((kind) => templates[kind].en.includes('<noscript><meta http-equiv="refresh" content="{{retry_after}}">'));
  assert.deepEqual(refreshing, ["waiting", "busy", "unavailable"]);
  const scripted = kinds.filter((kind) => templates[kind].en.includes("{{script}}"));
  assert.deepEqual(scripted, ["waiting", "busy", "closed", "unavailable"]);
});
