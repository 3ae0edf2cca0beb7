// The program with a model whose answers are known, and an app key for it.
import { Model, told } from "../client/model.js";
import { castalia, World } from "../world.mjs";

/** Starts both. Questions about the weather are for a tool of the caller's, if there is one. */
export async function start() {
  const model = await Model.start(async function* (asked) {
    const { text, results } = told(asked);
    const said = results.map((result) => result.split("\n\n<context>\n")[0]); // without what the oracle adds
    if (said.length > 0) return yield `It is ${said.join(" and ")}.`;
    const tool = asked.tools?.find((one) => one.function.name === "get_weather");
    if (text.includes("weather") && tool) return yield { call: "get_weather", args: { place: "Riga" } };
    const turns = asked.messages.filter((message) => message.role === "user").length;
    for (const word of `Turn ${turns}: ${text}`.split(/(?<= )/)) yield word;
  });
  const world = await World.start({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-test", MODEL: "stand-in" });
  const printed = await castalia(["key", "app", "--for", "tests", "--can", "oracle", "--days", "1", "--key", world.key, "--server", world.url]);
  return {
    model,
    world,
    url: world.url,
    key: printed.match(/cak_[a-z0-9]+/)[0],
    /** The titles of the sessions that people see. */
    async sessions() {
      const token = await castalia(["ucan", "invoke", "--key", world.key, "--audience", world.service, "--can", "*", "--with", "ixo:oracle"]);
      const response = await fetch(`${world.url}/sessions`, { headers: { authorization: `Bearer ${token}`, "x-auth-type": "ucan" } });
      return (await response.json()).sessions;
    },
    async stop() {
      model.stop();
      await world.stop();
    },
  };
}
