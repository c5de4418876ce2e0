import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { consequence, effect } from "../src/modes.tsx";
import { hits, problemOfTarget } from "../src/evict.tsx";
import { changes, fieldsOf, type Group, newRoom, queueGroups, roomGroups, sent } from "../src/fields.ts";
import { parseRoute } from "../src/router.ts";

interface Schema {
  properties: Record<string, { type: string; enum?: unknown[] }>;
}

const description = JSON.parse(readFileSync("../src/nginx/openapi.json", "utf8")) as { components: { schemas: Record<string, Schema> } };
const field = (name: string) => {
  const found = fieldsOf(roomGroups).find((one) => one.name === name);
  assert.ok(found, name);
  return found;
};

const forms: [string, readonly Group[], string[]][] = [["RoomChange", roomGroups, ["attach"]], ["QueueChange", queueGroups, []]];
for (const [schema, groups, elsewhere] of forms) {
  test(`every setting of ${schema} is in the form, with the values it takes`, () => {
    const properties = description.components.schemas[schema]?.properties ?? {};
    assert.deepEqual([...fieldsOf(groups).map(({ name }) => name), ...elsewhere].sort(), Object.keys(properties).sort());
    for (const { name, kind } of fieldsOf(groups)) {
      const property = properties[name];
      const choices = typeof kind === "string" ? undefined : [...kind].sort();
      assert.deepEqual(choices, property?.enum?.map(String).sort(), name);
      if (kind === "number") assert.equal(property?.type, "integer", name);
    }
  });
}

test("numbers are sent as numbers, and what is none as it stands", () => {
  assert.equal(sent(field("capacity"), " 250 "), 250);
  assert.equal(sent(field("capacity"), "many"), "many");
  assert.equal(sent(field("page_status"), "503"), 503);
  assert.equal(sent(field("rate"), "50/s"), "50/s");
  assert.equal(sent(field("rate"), " "), null);
  assert.equal(sent(field("message"), " kept as typed "), " kept as typed ");
  assert.equal(sent(field("message"), ""), "");
});

test("only what was changed is sent, and the file's own value goes back to the file", () => {
  const settings = { capacity: 200, rate: "off", message: null };
  const file = { capacity: 100 };
  const fields = fieldsOf(roomGroups);
  assert.deepEqual(changes(fields, { capacity: "200", rate: "off", message: "" }, settings, file), {});
  assert.deepEqual(changes(fields, { capacity: "300", message: "Soon" }, settings, file), { capacity: 300, message: "Soon" });
  assert.deepEqual(changes(fields, { capacity: "100" }, settings, file), { capacity: null });
  assert.deepEqual(changes(fields, { capacity: "100" }, settings, {}), { capacity: 100 });
});

test("a new room has what was filled in, and a place when there is a host", () => {
  assert.deepEqual(newRoom({ capacity: "3", rate: "", message: "", path: "/" }), { capacity: 3 });
  assert.deepEqual(newRoom({ capacity: "3", host: " shop.example.com ", path: "" }), { capacity: 3, attach: [{ host: "shop.example.com", path: "/" }] });
});

test("each mode says whom it hits", () => {
  const room = { inside: 20, waiting: 1, settings: { capacity: 20, attach: [] } };
  assert.match(consequence("hold", room), /^1 person in line .* 20 people inside/);
  assert.match(consequence("open", room), /^1 person in line .* capacity of 20/);
  assert.match(consequence("closed", room), /^1 person in line .* 20 people inside/);
  assert.match(consequence("normal", room), /^1 person in line .* 20 sessions of 20 places/);
});

test("a change that people will feel says so", () => {
  const room = { inside: 20, waiting: 1500 };
  assert.match(effect({ capacity: 5 }, room) ?? "", /^Nobody is sent out: the 20 people inside stay.* until 16 have left/);
  assert.match(effect({ capacity: 0 }, room) ?? "", /^Nobody comes in any more: 1,500 people in line wait/);
  assert.match(effect({ max_waiting: 1000 }, room) ?? "", /^The 1,500 people in line keep their places/);
  for (const body of [{ capacity: 20 }, { capacity: 30 }, { capacity: "x" }, { max_waiting: 2000 }, { rate: "off" }]) assert.equal(effect(body, room), null);
});

test("an eviction says whom it hits", () => {
  const room = { inside: 20, waiting: 1500 };
  assert.equal(hits("sid", true, room), "1 person");
  assert.equal(hits("all", false, room), "20 people inside");
  assert.equal(hits("all", true, room), "20 people inside and 1,500 people in line");
  assert.equal(hits("network", false, room), "those of this network among 20 people inside");
  assert.equal(problemOfTarget("sid", "0".repeat(32)), null);
  assert.match(problemOfTarget("sid", "0".repeat(31)) ?? "", /32 hex digits/);
  assert.match(problemOfTarget("network", "") ?? "", /203\.0\.113\.0\/24/);
  assert.equal(problemOfTarget("all", ""), null);
});

test("addresses lead to pages, unknown ones to the rooms", () => {
  assert.deepEqual(parseRoute(""), { page: "rooms" });
  assert.deepEqual(parseRoute("#/rooms/sale"), { page: "room", name: "sale" });
  assert.deepEqual(parseRoute("#/queues"), { page: "queues" });
  assert.deepEqual(parseRoute("#/queues/app"), { page: "queue", name: "app" });
  assert.deepEqual(parseRoute("#/health"), { page: "health" });
  assert.deepEqual(parseRoute("#/elsewhere"), { page: "rooms" });
  assert.deepEqual(parseRoute("#/rooms/%zz"), { page: "room", name: "%zz" });
});
