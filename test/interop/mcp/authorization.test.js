// The program as a client of an MCP server whose authorization server is oidc-provider.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Model, told } from "../client/model.js";
import { castalia, eventually, World } from "../world.mjs";
import { Issuer, Person } from "./issuer.js";
import { Notes } from "./notes.js";

let model, world, issuer, notes;

/** "read NAME" reads at the server of that name. */
async function* answer(asked) {
  const { text, results } = told(asked);
  const name = text.split(" ")[1];
  if (results.length === 0) return yield { call: "load_capability", args: { name: `mcp-${name}` } };
  if (results.length === 1 && asked.tools.some((tool) => tool.function.name === `${name}__read`)) return yield { call: `${name}__read`, args: {} };
  yield `Seen: ${results.at(-1)}`;
}

before(async () => {
  model = await Model.start(answer);
  issuer = await Issuer.start();
  notes = await Notes.start(issuer);
  world = await World.start((url) => ({
    ...{ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-test", MODEL: "stand-in" },
    ...{ PUBLIC_URL: url, MCP_USER_PRIVATE: "true", MCP_USER_SERVERS: "20" },
  }));
});
after(async () => {
  await world?.stop();
  for (const one of [notes, issuer, model]) one?.stop();
});

const servers = (...args) => castalia(["mcp-server", ...args, "--server", world.url, "--key", world.key]);
const chat = (message) => castalia(["chat", "--server", world.url, "--key", world.key, "--message", message]);

/** How the list shows a server. */
async function standing(name) {
  const line = (await servers("ls")).split("\n").find((one) => one.startsWith(`${name} `));
  return line.split(/ {2,}/)[3];
}

/** The code that the last page shows. */
function codeOf({ address, status, page }) {
  const [, code] = page.match(/<code>([A-Z0-9]{4}-[A-Z0-9]{4})<\/code>/) ?? [];
  assert.ok(status === 200 && code, `${address}: ${status} ${page}`);
  return code;
}

/** Adds a server that wants an authorization, and returns the link. */
async function add(name, at = notes) {
  const said = await servers("add", name, at.url);
  assert.ok(said.startsWith(`${world.url}/`), said);
  return said;
}

/** Adds a server, and authorizes there as somebody. */
async function connect(name, at = notes, person = new Person("alice")) {
  const link = await add(name, at);
  assert.equal(await servers("confirm", name, codeOf(await person.open(link))), `${name} is ready, 1 tool`);
  return person;
}

describe("an authorization at oidc-provider", () => {
  it("is asked for, given and used in a turn", async () => {
    await connect("notes");
    assert.match(await chat("read notes"), /Seen: alice wrote: flour at seven/);
    assert.equal(issuer.registered, 1);
    assert.deepEqual(issuer.token.aud, notes.url); // RFC 8707
  });

  it("is renewed when its token ends by the clock, with a new refresh token each time", async () => {
    issuer.lifetime = 1;
    await connect("brief");
    for (const times of [1, 2]) {
      const before = issuer.asked.length;
      await eventually(
        () => `the token is renewed: ${issuer.asked}`,
        async () => /alice wrote/.test(await chat("read brief")) && issuer.asked.length > before,
      );
      assert.equal(issuer.asked.at(-1), "refresh_token", `renewal ${times}`);
    }
    issuer.lifetime = 3600;
    assert.match(await chat("read brief"), /alice wrote/);
    assert.ok(!issuer.asked.includes("invalid_grant"), issuer.asked.join());
    await servers("rm", "brief"); // other nodes would renew it in later turns
  });

  it("is renewed once for all who are refused at the same time", async () => {
    await connect("crowd");
    const { grantId } = issuer.token;
    await issuer.expire();
    for (const said of await Promise.all(Array.from({ length: 6 }, () => chat("read crowd")))) assert.match(said, /alice wrote/);
    assert.deepEqual(issuer.renewed.filter((grant) => grant === grantId), [grantId]);
  });

  it("is not given by who refuses, and can be given later", async () => {
    const link = await add("refused");
    const bob = new Person("bob");
    const { status, page } = await bob.open(link, false);
    assert.equal(status, 403, page);
    assert.match(page, /The authorization was not given\./);
    assert.equal(await standing("refused"), "waiting for your authorization");
    await servers("confirm", "refused", codeOf(await bob.open(await servers("authorize", "refused"))));
    assert.match(await chat("read refused"), /bob wrote/);
  });

  it("is asked for again when it was revoked there", async () => {
    const person = await connect("revoked");
    await issuer.revoke();
    issuer.asked = [];
    assert.doesNotMatch(await chat("read revoked"), /wrote/);
    assert.deepEqual(issuer.asked, ["invalid_grant"]);
    assert.equal(await standing("revoked"), "waiting for your authorization");
    await chat("read revoked");
    assert.ok(JSON.stringify(model.asked.at(-1)).includes("want the user's authorization"), "the agent knows");
    await servers("confirm", "revoked", codeOf(await person.open(await servers("authorize", "revoked"))));
    assert.match(await chat("read revoked"), /alice wrote/);
  });

  it("is taken back when it is forgotten here", async () => {
    await connect("left");
    const { jti } = issuer.token;
    assert.equal(await servers("forget", "left"), "The tokens were revoked.");
    assert.equal(await issuer.provider.AccessToken.find(jti), undefined);
    assert.equal(await standing("left"), "waiting for your authorization");
  });

  it("is asked for as a new client where the old one was forgotten", async () => {
    const person = await connect("lost");
    const { registered } = issuer;
    await issuer.forgetClient();
    await issuer.expire();
    assert.doesNotMatch(await chat("read lost"), /wrote/);
    assert.equal(await standing("lost"), "waiting for your authorization");
    await servers("confirm", "lost", codeOf(await person.open(await servers("authorize", "lost"))));
    assert.equal(issuer.registered, registered + 1);
    assert.match(await chat("read lost"), /alice wrote/);
  });
});

describe("issuers differ:", () => {
  for (const [how, path, change, format] of [
    ["one of a tenant has its metadata by OpenID Connect alone", "/tenant", {}],
    ["one that lists all scopes", "", { scopes: ["openid", "offline_access", "notes:read"] }],
    ["one that renews nothing", "", { scopes: ["openid"] }],
    ["one that takes secrets in the body alone", "", { clientAuthMethods: ["client_secret_post"] }],
    ["one that takes no secrets and signs its tokens", "", { clientAuthMethods: ["none"] }, "jwt"],
  ])
    it(how, async (t) => {
      const other = await Issuer.start(path, change, format);
      t.after(() => other.stop());
      const server = await Notes.start(other);
      t.after(() => server.stop());
      await connect("other", server);
      assert.match(await chat("read other"), /alice wrote/);
      await servers("rm", "other");
    });
});
