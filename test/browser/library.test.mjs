// The client library in both shapes.
import { after, before, describe } from "node:test";
import { creditTests, little } from "./credits.mjs";
import { libraryTests, paymentTests } from "./library.mjs";
import { startModel } from "./model.mjs";
import { engine, startBrowser, startFleet, startProgram } from "./world.mjs";

// Another engine is about the page: one shape is enough, and credit is spent by what the server sets aside.
const isOther = engine !== "chromium";
const shapes = isOther ? { embedded: startProgram } : { embedded: startProgram, fleet: startFleet };
for (const [shape, start] of Object.entries(shapes)) {
  describe(shape, () => {
    const world = {};
    const poor = {};
    let running = [];
    before(async () => {
      world.model = await startModel();
      world.browser = poor.browser = await startBrowser();
      const settings = {
        MODEL_PROVIDER: "openai",
        OPENAI_BASE_URL: world.model.url,
        OPENAI_API_KEY: "x",
        QUERY_CORS_ORIGIN: "*",
      };
      running = await Promise.all([start(settings), start(little)]);
      [world.url, poor.url] = running.map((one) => one.url);
    });
    after(async () => {
      await world.browser?.close();
      await Promise.all(running.map((one) => one.stop()));
      await world.model?.stop();
    });
    libraryTests(world);
    if (!isOther) paymentTests(poor);
    // Here, because this fleet has them already.
    if (start === startFleet) creditTests(poor);
  });
}
