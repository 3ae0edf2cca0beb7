// The real client against the oracle's gateway, as the oracles' own client uses it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { io } from "socket.io-client";

const url = process.env.GATEWAY_URL;
const sessionId = process.env.GATEWAY_SESSION;
const invocation = process.env.GATEWAY_INVOCATION;
const ucanDelegation = process.env.GATEWAY_DELEGATION;

const open = new Set();
after(() => open.forEach((socket) => socket.disconnect()));

function connect(options) {
  const socket = io(url, { forceNew: true, reconnection: false, query: { sessionId }, auth: { invocation }, ...options });
  open.add(socket);
  return socket;
}

for (const [name, transports] of Object.entries({ polling: ["polling"], websocket: ["websocket"], upgrade: ["polling", "websocket"] })) {
  describe(name, () => {
    it("welcomes a session's owner", async () => {
      const socket = connect({ transports });
      const [welcome] = await once(socket, "connected");
      assert.equal(welcome.message, "Connected successfully");
      assert.equal(welcome.sessionId, sessionId);
      assert.equal(welcome.eventName, "connected");
    });

    it("takes a delegation alone", async () => {
      const socket = connect({ transports, auth: { ucanDelegation } });
      await once(socket, "connected");
    });

    it("answers questions", async () => {
      const socket = connect({ transports });
      await once(socket, "connected");
      for (const [question, answer] of [["ping", "pong"], ["status", "status"], ["subscribe", "subscribed"], ["list-events", "available-events"]]) {
        const got = once(socket, answer);
        socket.emit(question);
        const [payload] = await got;
        assert.equal(payload.sessionId, sessionId);
        assert.ok(!Number.isNaN(Date.parse(payload.timestamp)));
      }
    });

    it("runs a browser tool once and returns its result", async () => {
      const socket = connect({ transports });
      await once(socket, "connected");
      let calls = 0;
      socket.on("browser_tool_call", (call) => {
        calls++;
        socket.emit("tool_result", { toolCallId: call.toolCallId, sessionId: call.sessionId, result: { doubled: call.args.n * 2 } });
      });
      const answer = await (await fetch(`${process.env.GATEWAY_CALL}?socket=${socket.id}&n=21`)).json();
      assert.deepEqual(answer, { result: { doubled: 42 } });
      assert.equal(calls, 1);
    });

    for (const [why, options, text] of [
      ["without a session", { query: {} }, "Missing sessionId"],
      ["with somebody else's session", { query: { sessionId: "not-mine" } }, "Session not found"],
      ["with a bad token", { auth: { invocation: "nonsense", ucanDelegation } }, "Invalid UCAN invocation"],
      ["without a token", { auth: {} }, "Missing UCAN authentication"],
    ]) {
      it(`refuses a socket ${why}`, async () => {
        const socket = connect({ transports, ...options });
        const [error] = await once(socket, "connect_error");
        assert.ok(error.message.startsWith(text), error.message);
        assert.equal(socket.active, false);
        assert.equal(socket.connected, false);
      });
    }
  });
}
