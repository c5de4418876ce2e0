// Writes the console as the C++ source that src/page/console.h declares: npm run build:console -- FILE.cpp
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundle, hash, literal } from "../embed.ts";

const here = "console"; // npm runs this in web/

const bundled = (name: string) =>
  bundle(join(here, name), /<\/(script|style)|<!--/i, {
    target: name.endsWith(".css") ? ["chrome105", "firefox115", "safari16"] : "es2021",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
  });

const file = process.argv[2];
if (!file) throw new Error("which file is to be written?");
const style = await bundled("style/all.css");
const script = await bundled("src/main.tsx");
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

const std::string_view console_html = ${literal(html)};
const std::string_view console_policy = ${literal(policy)};

}  // namespace fairway::page
`,
);
