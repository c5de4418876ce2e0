import assert from "node:assert/strict";
import { test } from "node:test";
import { readAnswer, readBody } from "../src/answer.ts";

const body = {
  room: "sale",
  state: "waiting",
  rank: 1342,
  waiting: 5210,
  eta: 420,
  retry_after: 12,
  paused: false,
  stale: true,
  message: "hello",
};
const read = { state: "waiting", rank: 1342, waiting: 5210, eta: 420, retryAfter: 12, paused: false, stale: true, message: "hello" };

test("the answer of the status endpoint is read", () => {
  assert.deepEqual(readAnswer(200, null, JSON.stringify(body)), read);
});

test("retry_after counts whatever the HTTP status, and before the header", () => {
  assert.deepEqual(readAnswer(429, "99", JSON.stringify(body)), read);
  assert.equal(readAnswer(503, "7", '{"state":"unavailable"}')?.retryAfter, 7);
});

test("an answer in other words is taken by its header", () => {
  assert.equal(readAnswer(503, "30", "<html>busy</html>")?.state, "unavailable");
  assert.equal(readAnswer(503, "30", "<html>busy</html>")?.retryAfter, 30);
  assert.equal(readAnswer(503, "Wed, 21 Oct 2026 07:28:00 GMT", "<html>"), null);
  assert.equal(readAnswer(502, null, ""), null);
  assert.equal(readAnswer(200, null, "<html>log in</html>"), null);
});

test("a missing endpoint means that the room is no more", () => {
  assert.equal(readAnswer(404, null, "not found")?.state, "unknown");
});

test("values of the wrong kind are as good as none", () => {
  for (const bad of [null, "text", 1, [], {}, { state: "asleep" }, { state: 1 }]) assert.equal(readBody(bad), null);
  const odd = readBody({ state: "waiting", rank: 0, waiting: -1, eta: "7", retry_after: Infinity, paused: "yes", stale: 1, message: 5 });
  const none = { rank: null, waiting: null, eta: null, retryAfter: null, paused: false, stale: false, message: null };
  assert.deepEqual(odd, { state: "waiting", ...none });
});
