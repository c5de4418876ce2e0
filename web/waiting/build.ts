// Writes the built-in pages as the C++ source that src/page/generated.h declares: npm run build -- FILE.cpp
import { writeFileSync } from "node:fs";
import { literal } from "../embed.ts";
import { kinds, makePages, type Pages } from "./pages.ts";
import { languages, words } from "./words/all.ts";

function source(pages: Pages): string {
  const table = kinds.map((kind) => `    {${languages.map((l) => literal(pages.templates[kind][l])).join(",\n")}},\n`).join("");
  const sayings = languages.map((l) => {
    const { mark, markFrom, spoken: s } = words[l];
    const texts = [mark, s.etaUnder, s.etaRange, s.etaHour, s.etaHours, s.etaDay, s.etaUnknown].map(literal).join(", ");
    return `    {${literal(l)}, ${markFrom}, ${texts}},\n`;
  });
  return `// Made by web/waiting/build.ts; not to be edited.
#include "page/generated.h"

namespace fairway::page::generated {

const std::string_view style = ${literal(pages.style)};
const std::string_view script = ${literal(pages.script)};
const std::string_view policy = ${literal(pages.policy)};
const std::string_view templates[kKinds][kLanguages] = {
${table}};
const Sayings sayings[kLanguages] = {
${sayings.join("")}};

}  // namespace fairway::page::generated
`;
}

const file = process.argv[2];
if (!file) throw new Error("which file is to be written?");
writeFileSync(file, source(await makePages()));
