// What both builds need to put pages into a C++ source: a bundled file, its hash for a Content-Security-Policy, a string literal.
import { createHash } from "node:crypto";
import { build, type BuildOptions } from "esbuild";

export const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

// One file and all that it imports, minified. `signs`: what must not be in it, since it has a meaning where the text goes.
export async function bundle(file: string, signs: RegExp, options: BuildOptions): Promise<string> {
  const result = await build({ entryPoints: [file], bundle: true, minify: true, write: false, format: "iife", logLevel: "warning", ...options });
  const text = result.outputFiles?.[0]?.text.trim() ?? "";
  if (!text || signs.test(text)) throw new Error(`${file}: empty, or has a sign that has a meaning in a page`);
  return text;
}

// A literal may have a limited length, so the text is cut; the pieces are one text again for the compiler.
export function literal(text: string): string {
  if (text.includes(')fairway"')) throw new Error("a text holds the end of a raw string");
  return (text.match(/[^]{1,12000}/gu) ?? [""]).map((piece) => `R"fairway(${piece})fairway"`).join("\n    ");
}
