// Versions of turns in both shapes.
import { after, before, describe } from "node:test";
import { startModel } from "./model.mjs";
import { versionTests } from "./versions.mjs";
import { startBrowser, startFleet, startProgram } from "./world.mjs";

for (const [shape, start] of Object.entries({ embedded: startProgram, fleet: startFleet })) {
  describe(shape, () => {
    const world = {};
    let program;
    before(async () => {
      world.model = await startModel();
      world.browser = await startBrowser();
      program = await start({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x" });
      world.url = program.url;
    });
    after(async () => {
      await world.browser?.close();
      await program?.stop();
      await world.model?.stop();
    });
    versionTests(world);
  });
}
