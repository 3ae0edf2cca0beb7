// The program with a model whose answers are known, and an app key for it.
import { Model, told } from "../client/model.js";
import { castalia, World } from "../world.mjs";

/**
 * Starts both. Questions about the weather are for a tool of the caller's, if there is one; "send …" calls a tool that waits for
 * approval; "slow …" stops in the middle, until it is let go.
 */
export async function start(env = {}) {
  const slow = {};
  const model = await Model.start(async function* (asked) {
    const { text, results } = told(asked);
    const said = results.map((result) => result.split("\n\n<context>\n")[0]); // without what the oracle adds
    if (text.startsWith("send ") && said.length === 0) return yield { call: "load_capability", args: { name: "mcp-post" } };
    if (text.startsWith("send ") && said.length === 1) return yield { call: "post__send", args: { text: text.slice(5) } };
    if (text.startsWith("send ")) return yield `I did: ${said[1]}.`;
    if (said.length > 0) return yield `It is ${said.join(" and ")}.`;
    const tool = asked.tools?.find((one) => one.function.name === "get_weather");
    if (text.includes("weather") && tool) return yield { call: "get_weather", args: { place: "Riga" } };
    const turns = asked.messages.filter((message) => message.role === "user").length;
    const words = `Turn ${turns}: ${text}`.split(/(?<= )/);
    for (const [at, word] of words.entries()) {
      if (at === words.length - 1 && text.startsWith("slow ")) await slow.held;
      yield word;
    }
  });
  const world = await World.start({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-test", MODEL: "stand-in", ...env });
  const printed = await castalia(["key", "app", "--for", "tests", "--can", "oracle", "--days", "1", "--key", world.key, "--server", world.url]);
  return {
    model,
    world,
    /** Makes slow answers wait; the function that it returns lets them go. */
    hold() {
      let go;
      slow.held = new Promise((done) => (go = done));
      return () => {
        slow.held = undefined;
        go();
      };
    },
    /** An invocation of the key's owner for the oracle. */
    token: () => castalia(["ucan", "invoke", "--key", world.key, "--audience", world.service, "--can", "*", "--with", "ixo:oracle"]),
    url: world.url,
    key: printed.match(/cak_[a-z0-9]+/)[0],
    /** A new session of theirs, by its id. */
    async session() {
      const headers = { authorization: `Bearer ${await this.token()}`, "x-auth-type": "ucan" };
      return (await (await fetch(`${world.url}/sessions`, { method: "POST", headers })).json()).sessionId;
    },
    /** The titles of the sessions that people see. */
    async sessions() {
      const response = await fetch(`${world.url}/sessions`, { headers: { authorization: `Bearer ${await this.token()}`, "x-auth-type": "ucan" } });
      return (await response.json()).sessions;
    },
    async stop() {
      model.stop();
      await world.stop();
    },
  };
}
