// What an operator chooses without a shell: who may come, which model answers, and what it is told.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, looksRight, say, tooSmall, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** On a deployment that nobody chose anything for; modelled has a model to choose. */
export function choiceTests(world, modelled) {
  const { newcomer } = visitors(world);

  async function operator(options) {
    const who = await newcomer(options);
    await who.visit("operator/oracle");
    const card = (name) => who.page.getByRole("region", { name, exact: true });
    await card("Who may come").waitFor();
    return { ...who, card };
  }

  /** Chooses who may come, and waits until the server says so to everybody. */
  async function choose({ card, page }, door, access) {
    await card("Who may come").getByLabel(door).check();
    await card("Who may come").getByRole("button", { name: "Keep it" }).click();
    await card("Who may come").getByText("It holds from now on.").waitFor();
    const said = await page.evaluate(() => fetch("/console/features.json").then((reply) => reply.json()));
    assert.equal(said.access, access);
  }

  test("who may come is chosen on a page, and holds for who is here already", async () => {
    const who = await operator();
    const visitor = await newcomer();
    await choose(who, "Members may come in, and whoever has an invitation.", "invite");
    await visitor.visit("chat");
    await visitor.page.getByText(/by invitation/).first().waitFor();
    await choose(who, "Everybody who makes a key may come in.", "open");
    await visitor.visit("chat");
    await visitor.page.getByLabel("Your first message").waitFor();
    await visitor.close(["403"]);
    await who.close(["403"]);
  });

  test("the oracle gets another name and another address, which hold at once", async () => {
    const who = await operator();
    const { page, card } = who;
    const name = card("Its name");
    await name.getByLabel("What the oracle is called").fill("Baba Maji");
    await page.keyboard.press("Enter");
    await name.getByText("It holds from now on.").waitFor();
    const named = () => page.evaluate(() => fetch("/console/features.json").then((reply) => reply.json()));
    assert.equal((await named()).name, "Baba Maji");
    const address = card("Address and HTTPS");
    await address.getByLabel(/^Address that links begin with/).fill("https://oracle.example.org");
    await page.keyboard.press("Enter");
    await address.getByText("It holds from now on.").waitFor();
    await address.getByText("https://oracle.example.org", { exact: true }).waitFor();
    await looksRight(page, "operator-oracle");
    await address.getByLabel(/^Address that links begin with/).fill("");
    await page.keyboard.press("Enter");
    await address.getByText("Nobody told the server").waitFor();
    await name.getByLabel("What the oracle is called").fill("Castalia");
    await page.keyboard.press("Enter");
    await name.getByText("It holds from now on.").waitFor();
    await who.close();
  });

  test("a model is tried, chosen and given up without a shell", async () => {
    const who = await operator();
    const { page, card } = who;
    const model = card("Its model");
    await model.getByLabel("What answers").selectOption("openai");
    await model.getByLabel("Address").fill("http://127.0.0.1:9/v1");
    await model.getByLabel("Name of the model").fill("small");
    await model.getByRole("button", { name: "Test it" }).click();
    await model.getByRole("status").filter({ hasText: /nothing listens there/ }).waitFor();
    await model.getByLabel("Address").fill(modelled.model.url);
    await model.getByLabel("Key", { exact: true }).fill("sk-of-the-community");
    await model.getByRole("button", { name: "Test it" }).click();
    await model.getByRole("status").filter({ hasText: "small: it answers" }).waitFor();
    await model.getByRole("button", { name: "Keep it" }).click();
    await model.getByText("It holds from now on.").waitFor();
    assert.equal(await model.getByLabel("Key", { exact: true }).inputValue(), "", "the key is shown");
    await page.getByRole("combobox", { name: "Document", exact: true }).selectOption("models");
    await eventually("the document has the model, and its key sealed", async () => {
      const text = await page.getByRole("textbox", { name: "Text", exact: true }).inputValue();
      return /sealed:/.test(text) && !text.includes("sk-of");
    });
    await who.visit("chat");
    await say(page, "count to 3 every 1");
    await answered(page, "3");
    await who.visit("operator/oracle");
    await model.getByLabel("What answers").selectOption("guide");
    await model.getByRole("button", { name: "Keep it" }).click();
    await model.getByText("It holds from now on.").waitFor();
    await who.close();
  });

  test("instructions are written, and an earlier version is brought back", async () => {
    const who = await operator();
    const { page } = who;
    const text = page.getByRole("textbox", { name: "Text", exact: true });
    for (const said of ["You are Mama Maji.\n", "You are Baba Maji.\n"]) {
      await text.fill(said);
      await page.getByLabel("Why, for the history").fill("a name");
      await page.getByRole("button", { name: "Keep it" }).last().click();
      await page.getByText("It holds from now on.").waitFor();
    }
    await text.fill("---\nmood: bad\n---\n");
    await page.getByRole("button", { name: "Keep it" }).last().click();
    await page.getByRole("alert").filter({ hasText: "mood" }).waitFor();
    await page.getByRole("button", { name: "As it was" }).click();
    await page.getByRole("button", { name: "Restore version 1" }).click();
    await eventually("the first version is back", async () => (await text.inputValue()).includes("Mama"));
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await check(page, `the choices in ${colorScheme} at ${width}`);
      }
    }
    await page.setViewportSize({ width: 360, height: 740 });
    assert.deepEqual(await tooSmall(page), []);
    await who.close(["400"]);
  });
}
