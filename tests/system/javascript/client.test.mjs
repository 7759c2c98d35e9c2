// The browser's client in node, against a small service that fails on command: node --test tests/system/javascript
import assert from "node:assert/strict";
import http from "node:http";
import { afterEach, beforeEach, test } from "node:test";
import { Client, ServiceError } from "../../../src/discreet/service/http/static/discreet.js";

let server, address, seen, trouble, rewards, deals;

beforeEach(async () => {
  [seen, trouble, rewards, deals] = [[], [], new Map(), new Map()];
  server = http.createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const body = text ? JSON.parse(text) : null;
    seen.push({ path: request.url, body });
    const say = (status, content, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(content));
    };
    const now = trouble.shift();
    if (now === "hang") return;
    if (now === "cut") return request.socket.destroy();
    if (now) return say(now, { title: "Trouble", status: now, detail: "on command" });
    if (request.headers.authorization !== "Bearer k") return say(401, { title: "Unauthorized", detail: "who?" });
    if (request.url === "/v1/rewards:batch") {
      const take = ({ assignment, reward }) => {
        if (rewards.has(assignment)) return "duplicate";
        rewards.set(assignment, reward);
        return "counted";
      };
      return say(200, { statuses: body.rewards.map(take) });
    }
    if (request.url.startsWith("/v1/experiments?")) {
      const after = new URL(request.url, address).searchParams.get("after");
      return say(200, after ? { experiments: [{ name: "c" }], next: null } : { experiments: [{ name: "a" }, { name: "b" }], next: "0.7" });
    }
    const assignments = body.units.map((unit) => {
      if (!deals.has(unit)) deals.set(unit, deals.size);
      const number = deals.get(unit);
      const deadline = Date.now() / 1000 + 60;
      return { unit, arm: number % 2 ? "green" : "blue", assignment: `t${number}`, epoch: 1, learn: true, deadline };
    });
    say(200, { assignments });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}/`;
  globalThis.localStorage = undefined;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const patiently = { patience: 60000, timeout: 30000, delay: 10 }; // a busy machine may stand still for a second
const storage = () => {
  const kept = new Map();
  return {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: (name) => kept.delete(name),
  };
};
const until = async (condition) => {
  for (let i = 0; i < 3000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(condition());
};

test("experiments are asked for page by page", async () => {
  const client = new Client(address, "k", patiently);
  const names = [];
  for await (const one of client.experiments({ search: "a b", state: "running" })) names.push(one.name);
  assert.deepEqual(names, ["a", "b", "c"]);
  assert.deepEqual(seen.map((one) => one.path), [
    "/v1/experiments?search=a+b&state=running",
    "/v1/experiments?search=a+b&state=running&after=0.7",
  ]);
});

test("assign one and many", async () => {
  const banners = new Client(address, "k", patiently).experiment("blue/green");
  assert.equal((await banners.assign("ann")).arm, "blue");
  const many = await banners.assign(Array.from({ length: 2500 }, (_, i) => `u${i}`));
  assert.deepEqual(many.slice(0, 2).map((one) => one.unit), ["u0", "u1"]);
  assert.deepEqual(seen.map(({ body }) => body.units.length), [1, 1000, 1000, 500]);
  assert.equal(seen[0].path, "/v1/experiments/blue%2Fgreen/assignments");
});

test("reports go in batches, and the first one stands", async () => {
  const client = new Client(address, "k", { ...patiently, batch: 10 });
  const banners = client.experiment("banners");
  for (let i = 0; i < 25; i++) assert.equal(banners.report(`t${i}`, true), true);
  banners.report("t24", 0);
  await until(() => rewards.size === 25);
  assert.equal(rewards.get("t24"), 1);
  assert.ok(seen.every(({ body }) => body.rewards.length <= 10));
  await until(() => client.pending === 0);
});

test("trouble that passes is not seen", async () => {
  const client = new Client(address, "k", { ...patiently, timeout: 1000 }); // for the answer that never comes
  trouble.push(503, "cut", "hang", 429);
  assert.equal((await client.experiment("banners").assign("ann")).arm, "blue");
  trouble.push("cut", 502);
  client.experiment("banners").report("t1", 1);
  await until(() => rewards.size === 1);
  assert.equal(client.lost, 0);
});

test("trouble that stays is an error, or the fallback", async () => {
  const client = new Client(address, "k", { ...patiently, patience: 50 });
  trouble.push(...Array(20).fill(503));
  await assert.rejects(client.experiment("banners").assign("ann"), { name: "ServiceError", status: 503, detail: "on command" });
  trouble.splice(0, 100, 404);
  await assert.rejects(client.experiment("banners").assign("ann"), ServiceError);
  trouble.push(404);
  const banners = client.experiment("banners", { fallback: "green" });
  const one = await banners.assign("ann");
  assert.deepEqual([one.unit, one.arm, one.learn, one.assignment], ["ann", "green", false, null]);
  assert.equal(banners.report(one, 1), false);
});

test("a service that was just down is not waited for", async () => {
  const client = new Client(address, "k", { ...patiently, patience: 1000 });
  const banners = client.experiment("banners", { fallback: "green" });
  trouble.push(...Array(2000).fill("cut"));
  assert.equal((await banners.assign("ann")).arm, "green");
  trouble.length = 0;
  const asked = seen.length;
  assert.equal((await banners.assign("ann")).arm, "green");
  assert.equal(seen.length, asked);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  assert.equal((await banners.assign("ann")).arm, "blue");
});

test("every assignment is reported when the page is left", async () => {
  const client = new Client(address, "k", { ...patiently, delay: 100000 });
  const banners = client.experiment("banners", { defaultReward: 0.25 });
  const [ann] = await banners.assign(["ann", "bob"]);
  banners.report(ann, 1);
  client.leave();
  await until(() => rewards.size === 2);
  assert.deepEqual([...rewards], [["t0", 1], ["t1", 0.25]]);
  const later = client.experiment("banners", { alwaysReport: false });
  await later.assign("cem");
  client.leave();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(rewards.size, 2);
});

test("sticky until the deadline", async () => {
  globalThis.localStorage = storage();
  const client = new Client(address, "k", patiently);
  const first = await client.experiment("banners").assign("ann");
  const again = await new Client(address, "k", patiently).experiment("banners").assign("ann");
  assert.deepEqual(again, first);
  assert.equal(seen.length, 1);
  localStorage.setItem("discreet:banners:ann", JSON.stringify({ ...first, deadline: Date.now() / 1000 - 1 }));
  await client.experiment("banners").assign("ann");
  localStorage.setItem("discreet:banners:ann", "{");
  await client.experiment("banners").assign("ann");
  await client.experiment("banners", { sticky: false }).assign("ann");
  assert.equal(seen.length, 4);
});

test("room is bounded, and refused reports are not sent for ever", async (context) => {
  const warned = context.mock.method(console, "warn", () => {});
  const client = new Client(address, "k", { ...patiently, room: 3, delay: 100000 });
  const banners = client.experiment("banners");
  assert.deepEqual([0, 1, 2, 3].map((i) => banners.report(`t${i}`, 0.7312459)), [true, true, true, false]);
  trouble.push(422);
  assert.equal(await client.flush(), true);
  assert.deepEqual([client.lost, client.pending, rewards.size], [4, 0, 0]);
  assert.ok(!JSON.stringify(warned.mock.calls.map((call) => call.arguments)).includes("7312"));
  assert.throws(() => banners.report("t", NaN), /^TypeError: reward must be a finite number$/);
});

test("what was not sent is kept, and two flushes do not collide", async () => {
  const client = new Client(address, "k", { ...patiently, patience: 20, delay: 100000 });
  const banners = client.experiment("banners");
  banners.report("t0", 1);
  trouble.push(503);
  assert.equal(await client.flush(), false);
  assert.equal(client.pending, 1);
  banners.report("t1", 1);
  assert.deepEqual(await Promise.all([client.flush(), client.flush()]), [true, true]);
  assert.equal(seen.length, 2);
  assert.equal(rewards.size, 2);
});
