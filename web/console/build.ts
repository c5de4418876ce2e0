// Writes the console as the C++ source that src/page/console.h declares: npm run build:console -- FILE.cpp
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = "console"; // npm runs this in web/

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

async function bundle(name: string): Promise<string> {
  const result = await build({
    entryPoints: [join(here, name)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: name.endsWith(".css") ? ["chrome105", "firefox115", "safari16"] : "es2021",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    logLevel: "warning",
  });
  const text = result.outputFiles[0]?.text.trim() ?? "";
  if (!text || /<\/(script|style)|<!--/i.test(text)) throw new Error(`${name}: empty, or has a sign that has a meaning in a page`);
  return text;
}

// A literal may have a limited length, so the text is cut; the pieces are one text again for the compiler.
function literal(text: string): string {
  if (text.includes(')fairway"')) throw new Error("a text holds the end of a raw string");
  const pieces = text.match(/[^]{1,12000}/gu) ?? [];
  return pieces.map((piece) => `    R"fairway(${piece})fairway"`).join("\n");
}

const file = process.argv[2];
if (!file) throw new Error("which file is to be written?");
const style = await bundle("style/all.css");
const script = await bundle("src/main.tsx");
const frame = readFileSync(join(here, "index.html"), "utf8");
const html = frame.replace("[[style]]", () => style).replace("[[script]]", () => script);
const policy =
  `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src 'self'; frame-src 'self'; ` +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
writeFileSync(
  file,
  `// Made by web/console/build.ts; not to be edited.
#include "page/console.h"

namespace fairway::page {

const std::string_view console_html =
${literal(html)};
const std::string_view console_policy =
${literal(policy)};

}  // namespace fairway::page
`,
);
