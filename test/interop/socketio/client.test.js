// The real client against the plain server: every transport, in both directions.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { io } from "socket.io-client";

const url = process.env.SOCKETIO_URL;

const open = new Set();
after(() => open.forEach((socket) => socket.disconnect()));

function connect(options = {}, namespace = "") {
  const socket = io(url + namespace, { forceNew: true, reconnection: false, ...options });
  open.add(socket);
  return socket;
}

const connected = (socket) =>
  new Promise((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("connect_error", reject);
  });

const upgraded = (socket) =>
  new Promise((resolve) => {
    if (socket.io.engine.transport.name === "websocket") return resolve();
    socket.io.engine.once("upgrade", resolve);
  });

for (const [name, options] of Object.entries({
  polling: { transports: ["polling"] },
  websocket: { transports: ["websocket"] },
  upgrade: {},
})) {
  describe(name, () => {
    it("connects and ends on the right transport", async () => {
      const socket = connect(options);
      await connected(socket);
      if (name === "upgrade") await upgraded(socket);
      assert.equal(socket.io.engine.transport.name, name === "polling" ? "polling" : "websocket");
      assert.notEqual(socket.id, socket.io.engine.id);
    });

    it("carries auth", async () => {
      const socket = connect({ ...options, auth: { token: "żółw" } });
      const [auth] = await once(socket, "auth");
      assert.deepEqual(auth, { token: "żółw" });
    });

    it("echoes text, numbers, nesting and binary", async () => {
      const socket = connect(options);
      await connected(socket);
      const args = [1, "2", { three: [true, null, "🔥"] }, Buffer.from([1, 2, 3]), { deep: [Buffer.from([4])] }];
      const back = once(socket, "message-back");
      socket.emit("message", ...args);
      assert.deepEqual(await back, args);
    });

    it("acknowledges both ways", async () => {
      const socket = connect(options);
      await connected(socket);
      assert.equal(await socket.emitWithAck("message-with-ack", "ping"), "ping");
      assert.deepEqual(await socket.emitWithAck("message-with-ack", Buffer.from([9])), Buffer.from([9]));
      socket.on("question", (n, answer) => answer(n * 2));
      const asked = once(socket, "answered");
      socket.emit("ask-me", 21);
      assert.deepEqual(await asked, [42]);
    });

    it("keeps a thousand events in order while it upgrades", async () => {
      const socket = connect(options);
      const seen = [];
      const done = new Promise((resolve) => {
        socket.on("message-back", (n) => {
          seen.push(n);
          if (seen.length === 1000) resolve();
        });
      });
      for (let n = 0; n < 1000; n++) socket.emit("message", n);
      await done;
      assert.deepEqual(seen, Array.from({ length: 1000 }, (_, n) => n));
    });

    it("survives heartbeats", async () => {
      const socket = connect(options);
      await connected(socket);
      let pings = 0;
      await new Promise((resolve) => socket.io.on("ping", () => ++pings === 3 && resolve()));
      assert.equal(socket.connected, true);
    });

    it("is refused with a reason", async () => {
      const socket = connect({ ...options, auth: { token: "bad" } });
      const [error] = await once(socket, "connect_error");
      assert.equal(error.message, "not authorized");
      assert.deepEqual(error.data, { hint: "renew" });
      assert.equal(socket.active, false);
    });

    it("hears a disconnect and does not come back by itself", async () => {
      const socket = connect({ ...options, reconnection: true });
      await connected(socket);
      socket.emit("kick-me"); // in the upgrade suite this falls into the middle of the upgrade
      const [reason] = await once(socket, "disconnect");
      assert.equal(reason, "io server disconnect");
      assert.equal(socket.active, false);
    });

    it("comes back by itself when it is dropped", async () => {
      const socket = connect({ ...options, reconnection: true, reconnectionDelay: 10 });
      await connected(socket);
      const first = socket.id;
      const again = once(socket, "connect");
      socket.emit("drop-me");
      await again;
      assert.notEqual(socket.id, first);
    });

    it("takes ten attachments and large messages", async () => {
      const socket = connect(options);
      await connected(socket);
      const parts = Array.from({ length: 10 }, (_, n) => Buffer.alloc(20_000, n));
      const back = once(socket, "message-back");
      socket.emit("message", ...parts);
      assert.deepEqual(await back, parts);
      const text = "x".repeat(900_000);
      assert.equal(await socket.emitWithAck("message-with-ack", text), text);
    });

    it("multiplexes namespaces", async () => {
      const main = connect({ ...options, forceNew: false, multiplex: true, query: { unique: name } });
      const custom = main.io.socket("/custom");
      open.add(custom);
      custom.connect();
      await Promise.all([once(custom, "connect"), connected(main)]);
      custom.emit("message", "there");
      assert.deepEqual(await once(custom, "message-back"), ["there"]);
      custom.disconnect();
      main.emit("message", "here");
      assert.deepEqual(await once(main, "message-back"), ["here"]);
    });

    it("joins rooms", async () => {
      const sockets = [connect(options), connect(options)];
      await Promise.all(sockets.map(connected));
      const room = `${name}-room`;
      await Promise.all(sockets.map((s) => s.emitWithAck("join", room)));
      const heard = sockets.map((s) => once(s, "said"));
      sockets[0].emit("say", room, { hello: true });
      assert.deepEqual(await Promise.all(heard), [[{ hello: true }], [{ hello: true }]]);
    });
  });
}

it("hears a disconnect at any moment of an upgrade", async () => {
  const kick = async (delay) => {
    const socket = connect();
    const gone = once(socket, "disconnect");
    await connected(socket);
    await new Promise((resolve) => setTimeout(resolve, delay));
    socket.emit("kick-me");
    const [reason] = await gone;
    assert.equal(reason, "io server disconnect", `after ${delay} ms`);
  };
  // A few at a time: a hundred clients on a busy machine would be late with their heartbeats.
  for (let delay = 0; delay < 15; delay++) await Promise.all([kick(delay), kick(delay), kick(delay)]);
});

it("learns that a namespace does not exist", async () => {
  const socket = connect({}, "/nowhere");
  const [error] = await once(socket, "connect_error");
  assert.equal(error.message, "Invalid namespace");
});
