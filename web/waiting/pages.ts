// Makes the built-in pages: one HTML template for each page and language, the style and the script they share, and the policy that
// allows just these two.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bundle, hash } from "../embed.ts";
import { type Language, languages, words } from "./words/all.ts";
import type { Words } from "./words/words.ts";

// In the order of `enum class Kind` in src/page/page.h.
export const kinds = ["waiting", "busy", "closed", "unavailable", "left", "cookies", "unprocessed"] as const;
export type Kind = (typeof kinds)[number];

export interface Pages {
  style: string;
  script: string;
  policy: string;
  templates: Record<Kind, Record<Language, string>>; // {{style}} and {{script}} still to be filled in
}

const here = "waiting"; // npm runs this in web/
const refresh = '<noscript><meta http-equiv="refresh" content="{{retry_after}}"></noscript>';
const refreshing: readonly Kind[] = ["waiting", "busy", "unavailable"];

const read = (name: string) => readFileSync(join(here, name), "utf8");
const escape = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const bundled = (name: string) =>
  bundle(join(here, name), /\{\{|<\//, {
    target: name.endsWith(".css") ? ["chrome66", "firefox60", "safari12"] : "es2018", // old phones wait in line too
  });

function title(kind: Kind, w: Words): string {
  if (kind === "waiting") return w.spoken.title.replace("{rank}", "{{rank}}");
  return w[`${kind}Heading`];
}

function template(kind: Kind, w: Words): string {
  const parts: Record<string, string> = {
    refresh: refreshing.includes(kind) ? refresh : "",
    body: read(`pages/${kind}.html`).replace("[[land]]", read("pages/land.svg")),
  };
  const texts: Record<string, unknown> = { ...w, title: title(kind, w), spoken: JSON.stringify(w.spoken) };
  const insert = (place: string, name: string) => {
    const text = texts[name];
    if (typeof text !== "string") throw new Error(`${kind}.html: no words for ${place}`);
    return escape(text);
  };
  const whole = read("pages/frame.html").replace(/\[\[(refresh|body)\]\]/g, (_, name: string) => parts[name] ?? "");
  return whole.replace(/\[\[(\w+)\]\]/g, insert).replace(/\n+/g, "\n");
}

export async function makePages(): Promise<Pages> {
  const style = await bundled("style.css");
  const script = await bundled("src/main.ts");
  const policy =
    `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src 'self'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'self'";
  const inLanguages = (kind: Kind) => Object.fromEntries(languages.map((l) => [l, template(kind, words[l])]));
  const templates = Object.fromEntries(kinds.map((kind) => [kind, inLanguages(kind)])) as Pages["templates"];
  return { style, script, policy, templates };
}
