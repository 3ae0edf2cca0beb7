// The console against two nodes on PostgreSQL, S3 and NATS, each connection at
// the other one.
import { after, before } from "node:test";
import { chatTests } from "./chat.mjs";
import { fileTests } from "./files.mjs";
import { keyboardTests } from "./keyboard.mjs";
import { lineTests } from "./line.mjs";
import { startModel } from "./model.mjs";
import { pageTests } from "./pages.mjs";
import { startBrowser, startFleet } from "./world.mjs";

const world = { operatorToken: "the operator's own token" };
let fleet;
before(async () => {
  world.model = await startModel();
  [world.browser, fleet] = await Promise.all([
    startBrowser(),
    startFleet(
      {
        MODEL_PROVIDER: "openai",
        OPENAI_BASE_URL: world.model.url,
        OPENAI_API_KEY: "x",
        MODEL: "small,large",
        OPERATOR_TOKEN: world.operatorToken,
      },
      { spread: true },
    ),
  ]);
  world.url = fleet.url;
});
after(async () => {
  await world.browser?.close();
  await fleet?.stop();
  await world.model?.stop();
});

chatTests(world);
lineTests(world);
keyboardTests(world);
fileTests(world);
pageTests(world);
