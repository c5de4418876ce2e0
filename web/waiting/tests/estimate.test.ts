import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { estimate } from "../src/estimate.ts";
import { languages, words } from "../words/all.ts";

test("estimates are worded as in the shared list", () => {
  const lines = readFileSync("../tests/unit/estimates.txt", "utf8").split("\n").filter((line) => line && !line.startsWith("#"));
  assert.ok(lines.length > 40);
  for (const line of lines) {
    const [seconds, tag, expected] = line.split("\t");
    const language = languages.find((known) => known === tag);
    assert.ok(language, line);
    assert.equal(estimate(seconds === "-" ? null : Number(seconds), words[language].spoken), expected);
  }
});

test("the range holds the estimate and never shrinks as it grows", () => {
  const spoken = { ...words.en.spoken, etaRange: "{low} {high}" };
  let before = [0, 0];
  for (let seconds = 60; seconds < 3600; ++seconds) {
    const [low = NaN, high = NaN] = estimate(seconds, spoken).split(" ").map(Number);
    assert.ok(low < high && low * 60 <= seconds && high * 60 >= seconds, `${seconds}: ${low} to ${high}`);
    assert.ok(low >= (before[0] ?? 0) && high >= (before[1] ?? 0), `${seconds}: ${low} to ${high}`);
    before = [low, high];
  }
});

test("the server groups digits as the browser does", () => {
  for (const language of languages) {
    const { mark, markFrom } = words[language];
    for (const number of [7, 999, 1342, 9999, 10000, 123456, 1234567]) {
      const digits = String(number);
      const grouped = digits.length < markFrom ? digits : digits.replace(/\B(?=(\d{3})+$)/g, mark);
      assert.equal(new Intl.NumberFormat(language).format(number), grouped, language);
    }
  }
});
