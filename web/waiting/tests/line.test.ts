import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, type State, states } from "../src/answer.ts";
import { announce, begin, heard, type Kind, type Line, missed, note, pause, progress, reloadDelay, shouldReload } from "../src/line.ts";

const answer = (change: Partial<Answer> = {}): Answer => ({
  state: "waiting",
  rank: 100,
  waiting: 500,
  eta: 600,
  retryAfter: 5,
  paused: false,
  stale: false,
  message: null,
  ...change,
});
const start = (change: Partial<Answer> = {}): Line => begin(answer(change), 0, 0);

test("the server's word on when to ask again is kept, within what a timer can do", () => {
  for (const dice of [0, 0.999]) {
    assert.equal(pause(start({ retryAfter: 12 }), dice), 12_000);
    assert.equal(pause(start({ retryAfter: 0 }), dice), 1_000);
    assert.equal(pause(start({ retryAfter: 1e9 }), dice), 86_400_000);
  }
  const busy = heard(start(), answer({ state: "busy", retryAfter: 20, rank: null }), 1);
  assert.equal(pause(busy, 0.5), 20_000);
});

test("without it the pauses double up to a minute, with jitter", () => {
  let line = start();
  const least: number[] = [];
  for (let i = 0; i < 9; ++i) {
    line = missed(line);
    least.push(pause(line, 0));
    assert.ok(pause(line, 0.999) < 2 * pause(line, 0) && pause(line, 0.999) > 1.9 * pause(line, 0));
    assert.ok(pause(line, 0.999) <= 60_000);
  }
  assert.deepEqual(least, [1, 2, 4, 8, 16, 30, 30, 30, 30].map((s) => s * 1000));
  assert.equal(pause(heard(line, answer(), 1), 0), 5_000);
});

test("an answer without retry_after backs off too", () => {
  let line = heard(start(), answer({ retryAfter: null }), 1);
  assert.equal(pause(line, 0), 1_000);
  line = heard(line, answer({ retryAfter: null }), 2);
  assert.equal(pause(line, 0), 2_000);
});

test("one lost answer is not worth a word, two are, and the next answer ends it", () => {
  const once = missed(start());
  assert.equal(note(once, 1), "");
  const twice = missed(once);
  assert.equal(note(twice, 1), "offline");
  assert.equal(note(heard(twice, answer(), 2), 2), "");
});

test("a busy answer keeps what is known of the place", () => {
  const line = heard(start(), answer({ state: "busy", rank: null, waiting: null, eta: null }), 9);
  assert.equal(line.told.rank, 100);
  assert.equal(note(line, 9), "");
  assert.equal(line.heardAt, 0);
});

test("other states are explained", () => {
  const noteOf = (state: State) => note(heard(start(), answer({ state }), 1), 1);
  assert.deepEqual([noteOf("closed"), noteOf("unavailable"), noteOf("unknown")], ["closed", "unreachable", "lost"]);
  assert.equal(note(start({ paused: true, stale: true }), 1), "paused");
  assert.equal(note(start({ stale: true }), 1), "stale");
});

test("the estimate falls at once and rises by thirds, with the reason", () => {
  let line = heard(start({ eta: 600 }), answer({ eta: 300 }), 1);
  assert.deepEqual([line.eta, line.rise], [300, ""]);
  line = heard(line, answer({ eta: 900 }), 2);
  assert.deepEqual([line.eta, line.rise], [500, "slower"]);
  line = heard(line, answer({ eta: 500 }), 3);
  assert.deepEqual([line.eta, line.rise], [500, "slower"]);
  line = heard(line, answer({ eta: 800, rank: 101 }), 4);
  assert.deepEqual([line.eta, line.rise], [600, "returned"]);
  line = heard(line, answer({ eta: 120, rank: 90 }), 5);
  assert.deepEqual([line.eta, line.rise], [120, ""]);
  line = heard(line, answer({ eta: null }), 6);
  assert.deepEqual([line.eta, line.rise], [null, ""]);
  line = heard(line, answer({ eta: 700 }), 7);
  assert.deepEqual([line.eta, line.rise], [700, ""]);
});

test("a damped estimate reaches the told one", () => {
  let line = start({ eta: 60 });
  for (let i = 0; i < 40; ++i) line = heard(line, answer({ eta: 1000 }), i);
  assert.equal(line.eta, 1000);
});

test("standing still for two minutes is said, unless it is explained", () => {
  const still = (change: Partial<Answer>, now: number) => note(heard(start(), answer(change), now), now);
  assert.equal(still({}, 119_999), "");
  assert.equal(still({}, 120_000), "stuck");
  assert.equal(still({ rank: 99 }, 120_000), "");
  assert.equal(still({ paused: true }, 120_000), "paused");
  const resumed = heard(heard(start(), answer({ paused: true, rank: null }), 500_000), answer(), 500_001);
  assert.equal(note(resumed, 500_001), "");
});

test("progress is counted from the first rank", () => {
  assert.equal(progress(start({ rank: null })), 0);
  let line = start({ rank: 99 });
  assert.equal(progress(line), 0.01);
  line = heard(line, answer({ rank: 50 }), 1);
  assert.equal(progress(line), 0.5);
  line = heard(line, answer({ rank: 1 }), 2);
  assert.equal(progress(line), 0.99);
  assert.equal(progress(heard(line, answer({ rank: 199 }), 3)), 0.005);
  assert.equal(progress(begin(answer({ rank: 50 }), 99, 0)), 0.5);
});

test("a page is loaded anew exactly when another one would be shown", () => {
  const table = (kind: Kind) => states.filter((state) => shouldReload(kind, state));
  assert.deepEqual(table("waiting"), ["admitted", "unknown"]);
  assert.deepEqual(table("busy"), ["waiting", "admitted", "closed", "unknown"]);
  assert.deepEqual(table("unavailable"), ["waiting", "admitted", "closed", "unknown"]);
  assert.deepEqual(table("closed"), ["waiting", "admitted"]);
});

test("reloads that lead nowhere become rare", () => {
  assert.deepEqual([0, 1, 2, 3, 50].map(reloadDelay), [0, 5_000, 15_000, 60_000, 60_000]);
});

test("screen readers hear news, not numbers", () => {
  const said = { note: "", rank: 100, at: 0 };
  const at = (rank: number, now: number) => announce(heard(start(), answer({ rank }), now), said, now);
  assert.equal(at(50, 59_999), "");
  assert.equal(at(76, 60_000), "");
  assert.equal(at(75, 60_000), "rank");
  const near = { ...said, rank: 3 };
  assert.equal(announce(heard(start({ rank: 3 }), answer({ rank: 2 }), 60_000), near, 60_000), "rank");
  assert.equal(announce(heard(start({ rank: 3 }), answer({ rank: 3 }), 60_000), near, 60_000), "");
  assert.equal(announce(start({ paused: true }), said, 1), "note");
  assert.equal(announce(start(), { ...said, note: "paused" }, 1), "rank");
});
