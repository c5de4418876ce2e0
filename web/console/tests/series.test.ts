import assert from "node:assert/strict";
import { test } from "node:test";
import { seconds, Series, spark } from "../src/series.ts";

const answer = (from: number, values: (number | null)[]) => ({ from, to: from + values.length - 1, step: 1, waiting: values });

test("answers are put together, and what was known again is replaced", () => {
  const series = new Series(["waiting"]);
  assert.equal(series.since, 0);
  series.take(answer(1000, [1, 2, 3, null]));
  assert.equal(series.since, 1002); // the last second had no count yet
  series.take(answer(1003, [4, 5]));
  assert.deepEqual(series.times, [1000, 1001, 1002, 1003, 1004]);
  assert.deepEqual(series.columns["waiting"], [1, 2, 3, 4, 5]);
  assert.equal(series.latest("waiting"), 5);
});

test("no more than 15 minutes are kept", () => {
  const series = new Series(["waiting"]);
  series.take(answer(1000, Array.from({ length: seconds }, (_, i) => i)));
  series.take(answer(1000 + seconds, [7, 8]));
  assert.equal(series.times.length, seconds);
  assert.equal(series.times[0], 1002);
  assert.deepEqual(series.columns["waiting"]?.slice(-2), [7, 8]);
});

test("a gap longer than what the gateway keeps begins anew, as does a clock that was set back", () => {
  for (const from of [9000, 10]) {
    const series = new Series(["waiting"]);
    series.take(answer(5000, [1, 2]));
    series.take(answer(from, [3]));
    assert.deepEqual(series.times, [from]);
    assert.deepEqual(series.columns["waiting"], [3]);
  }
});

test("a column that an answer lacks is unknown", () => {
  const series = new Series(["waiting", "inside"]);
  series.take(answer(1000, [1, 2]));
  assert.deepEqual(series.columns["inside"], [null, null]);
  assert.equal(series.latest("inside"), null);
});

test("a small chart shows the highest of each part, and gaps as gaps", () => {
  const series = new Series(["waiting"]);
  assert.equal(spark(series, "waiting", 90, 24), "");
  series.take(answer(1000, Array.from({ length: seconds }, (_, i) => (i < 800 ? null : i === 850 ? 100 : 0))));
  const path = spark(series, "waiting", 90, 24);
  assert.match(path, /^M80 24V23/); // ten seconds a column; counted from second 800 on
  assert.match(path, /L85 1L86 23/);
  assert.match(path, /H90V24Z$/);
  assert.doesNotMatch(path, /NaN|Infinity/);
});
