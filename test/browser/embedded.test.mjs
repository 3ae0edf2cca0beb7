// The console against one process on its own data folder.
import { after, before, test } from "node:test";
import { chatTests } from "./chat.mjs";
import { creditTests, little } from "./credits.mjs";
import { fileTests } from "./files.mjs";
import { guarded, inviteTests } from "./invite.mjs";
import { keyboardTests } from "./keyboard.mjs";
import { keyTests } from "./keys.mjs";
import { lineTests } from "./line.mjs";
import { startModel } from "./model.mjs";
import { pageTests } from "./pages.mjs";
import { vaultTests } from "./vault.mjs";
import { visitors } from "./visitor.mjs";
import { startBrowser, startProgram } from "./world.mjs";

const world = {};
const plain = {};
const invited = {};
let programs = [];
before(async () => {
  world.model = await startModel();
  world.browser = plain.browser = invited.browser = await startBrowser();
  const [modelled, guided, door] = await Promise.all([
    startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x", MODEL: "small,large" }),
    startProgram(little),
    startProgram(guarded),
  ]);
  programs = [modelled, guided, door];
  world.url = modelled.url;
  plain.url = guided.url;
  invited.url = door.url;
});
after(async () => {
  await world.browser?.close();
  await Promise.all(programs.map((p) => p.stop()));
  await world.model?.stop();
});

chatTests(world);
lineTests(world);
keyboardTests(world);
fileTests(world);
pageTests(world);
keyTests(world);
vaultTests(world);

test("the built-in guide draws a chart for a newcomer", async () => {
  const { page, close } = await visitors(plain).newcomer();
  await page.getByRole("button", { name: /Draw a chart/ }).click();
  await page.getByRole("img", { name: /^Litres drawn at the spring/ }).waitFor();
  await page.getByText(/\d+ credits?/).first().waitFor();
  await close();
});

creditTests(plain);
inviteTests(invited);
