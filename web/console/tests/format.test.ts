import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, many, moment, people, percent, rate, span, wait } from "../src/format.ts";

test("numbers and their nouns", () => {
  assert.equal(count(1_234_567), "1,234,567");
  assert.equal(people(1), "1 person");
  assert.equal(people(0), "0 people");
  assert.equal(many(5210, "session"), "5,210 sessions");
  assert.equal(rate(1.26), "1.3");
  assert.equal(rate(1234.5), "1,235");
});

test("spans take the two largest units", () => {
  const expected: [number | null, string][] = [
    [null, "unknown"], [0, "0 s"], [59, "59 s"], [60, "1 min"], [420, "7 min"], [3599, "59 min"], [3600, "1 h"], [7500, "2 h 5 min"],
    [86_400, "1 d"], [273_600, "3 d 4 h"],
  ];
  for (const [seconds, text] of expected) assert.equal(span(seconds), text);
});

test("waits are exact where they are short", () => {
  assert.equal(wait(0), "0 ms");
  assert.equal(wait(0.0034), "3 ms");
  assert.equal(wait(1.254), "1.25 s");
  assert.equal(wait(75), "1 min");
});

test("bytes", () => {
  assert.equal(bytes(512), "512 B");
  assert.equal(bytes(33_554_432), "32 MiB");
});

test("a moment has its date unless it is today's", () => {
  const now = new Date(2026, 4, 4, 18, 0, 0);
  assert.equal(moment(new Date(2026, 4, 4, 7, 5, 9), now), "07:05:09");
  assert.equal(moment(new Date(2026, 4, 3, 23, 59, 59), now), "2026-05-03 23:59:59");
});

test("a bar is never more than full, and full without room", () => {
  assert.equal(percent(5, 20), 25);
  assert.equal(percent(30, 20), 100);
  assert.equal(percent(0, 0), 0);
  assert.equal(percent(1, 0), 100);
});
