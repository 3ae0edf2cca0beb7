// Accounts of telephones, how the telephone is used, and what callers sent as forms, for operators.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { looksRight, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

const pin = "70382";

/** Asks for a name and keeps it. */
const names = `name: Names
languages: [en]
start: ask
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
variables:
  name: {max: 24}
screens:
  ask:
    text: {en: Who rises early?}
    input: {var: name, kind: name, max: 24, errors: {invalid: {en: Letters only.}}, next: keep}
    exit: true
  done: {end: true, text: {en: "Thank you {{name}}"}}
  bye: {end: true, text: {en: Goodbye}}
actions:
  keep: {run: storeForm, form: early, on: {ok: done, refused: ask, invalid: ask}}
forms:
  early:
    fields: [{name: who, var: name, kind: text}]
`;

export function phoneTests(world) {
  const { newcomer } = visitors(world);
  let calls = 0;

  /** Dials and types; returns the last screen. */
  async function dial(phoneNumber, ...inputs) {
    const sessionId = `phones-${++calls}`;
    let said = "";
    for (let i = 0; i <= inputs.length; i++) {
      const reply = await fetch(`${world.url}/api/ussd`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sessionId, serviceCode: "*2233#", phoneNumber, text: inputs.slice(0, i).join("*") }),
      });
      said = await reply.text();
    }
    return said;
  }

  /** An account of a telephone, made by it. */
  async function accountOf(phoneNumber, name) {
    const made = await dial(phoneNumber, "2", "2", name, "00", pin, pin);
    const account = /account ID is (C\w{8})/.exec(made)?.[1];
    assert.ok(account, made);
    return account;
  }

  test("an operator finds an account, resets its PIN, moves it, closes it and erases it", async () => {
    const phone = "+254700333001";
    const account = await accountOf(phone, "Wanjiru");
    await accountOf("+254700333002", "Otieno");
    const { page, visit, close } = await newcomer();
    await visit("operator/accounts");
    const card = page.getByRole("region", { name: "Accounts of telephones" });
    await card.getByText("Otieno").waitFor();
    const find = async (text) => {
      await card.getByRole("searchbox").fill(text);
      await page.keyboard.press("Enter");
    };
    await find("njir");
    const one = card.getByRole("listitem").filter({ hasText: account });
    await one.waitFor();
    await card.getByText("Otieno").waitFor({ state: "detached" });
    await find("+254 700 333001");
    await one.waitFor();
    assert.doesNotMatch(await one.innerText(), /700333001/);

    await one.getByRole("button", { name: `Details of ${account}` }).click();
    await one.getByText("Nobody has done anything to it.").waitFor();
    await one.getByRole("button", { name: "Reset the PIN" }).click();
    const dialog = page.getByRole("dialog");
    assert.equal(await dialog.getByRole("button", { name: /by message/ }).count(), 0, "nobody sends messages here");
    await dialog.getByRole("button", { name: "Show a code" }).click();
    const code = (await dialog.getByText(/^\d{8}$/).innerText()).trim();
    await looksRight(page, "phones-code");
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByText(code).waitFor({ state: "detached" });
    await one.getByText(/Code for a new PIN made, by/).waitFor();
    const fresh = "49275";
    assert.match(await dial(phone, "2", "1", "01", code, fresh, fresh), /Welcome Wanjiru/);

    const next = "+254700333003";
    await one.getByRole("button", { name: "Move to a new number" }).click();
    await dialog.getByLabel("New number, with the code of the country").fill("+254 700 333 003");
    await looksRight(page, "phones-move");
    await dialog.getByRole("button", { name: "Move to a new number" }).click();
    await dialog.waitFor({ state: "detached" });
    await find(next);
    await one.getByRole("button", { name: `Details of ${account}` }).click();
    await one.getByText(/^Moved to another number, by/).waitFor();
    assert.match(await dial(next, "2", "1", fresh), /Welcome Wanjiru/);

    await one.getByRole("button", { name: "Close", exact: true }).click();
    await dialog.getByText("Nobody logs in to it any more").waitFor();
    await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
    await one.getByText("closed", { exact: true }).waitFor();
    await one.getByText(/^Closed, by/).waitFor();
    await looksRight(page, "phones-account");
    assert.doesNotMatch(await dial(next, "2", "1", fresh), /Welcome Wanjiru/);

    await one.getByRole("button", { name: "Erase", exact: true }).click();
    const erase = dialog.getByRole("button", { name: "Erase", exact: true });
    assert.ok(await erase.isDisabled());
    await dialog.getByLabel(`To erase, type the account: ${account}`).fill(account);
    await erase.click();
    await dialog.getByText("Nothing is left of the number either.").waitFor();
    await looksRight(page, "phones-receipt");
    await dialog.getByRole("button", { name: "Close the receipt" }).click();
    await card.getByText("No account is found.").waitFor();
    await close();
  });

  test("an operator sees how telephones are used, takes answers along and deletes one", async () => {
    const documents = `${world.url}/operator/documents/menu`;
    const now = await (await fetch(documents)).json();
    const published = await fetch(documents, {
      method: "PUT",
      headers: { "Content-Type": "application/json", "If-Match": `"${now.newest}"` },
      body: JSON.stringify({ text: names, note: "names" }),
    });
    assert.equal(published.status, 200, await published.text());
    await eventually("calls get the form", async () => /Who rises early/.test(await dial("+254700333009")));
    assert.match(await dial("+254700333011", "Achieng"), /Thank you Achieng/);
    assert.match(await dial("+254700333012", "Baraka"), /Thank you Baraka/);
    const refused = await fetch(`${world.url}/api/ussd`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ sessionId: "refused", serviceCode: "*2233#", phoneNumber: "0700", text: "" }),
    });
    assert.match(await refused.text(), /Invalid input/);

    const { page, visit, close } = await newcomer();
    const card = (name) => page.getByRole("region", { name, exact: true });
    await eventually("the refusal is counted", async () => {
      await visit("operator/telephone");
      await card("Gateways").waitFor();
      return (await card("Refused requests").getByText("must be an E.164 number").count()) > 0;
    });
    await card("Gateways").getByRole("row").filter({ hasText: "/api/ussd" }).waitFor();
    await card("Text messages").getByText("No message was sent in these days.").waitFor();

    const forms = card("Forms");
    const one = forms.getByRole("listitem").filter({ hasText: "Sent 2 times" });
    await one.getByRole("button", { name: "Answers of early", exact: true }).click();
    const answers = one.getByRole("list", { name: "Answers of early" });
    await answers.getByText("Baraka").waitFor();
    assert.doesNotMatch(await answers.innerText(), /700333012/);
    await looksRight(page, "phones-use");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      one.getByRole("button", { name: "Download the answers of early as CSV" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "early.csv");
    const csv = readFileSync(await download.path(), "utf8");
    assert.match(csv, /Achieng/);
    assert.doesNotMatch(csv, /700333011/);

    await answers.getByRole("listitem").filter({ hasText: "Achieng" }).getByRole("button").click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await forms.getByText(/Sent once/).waitFor();
    assert.equal(await forms.getByText("Achieng").count(), 0);

    await page.getByRole("combobox", { name: "Days" }).selectOption("90");
    await card("Gateways").waitFor();
    await visit("operator/telephone?language=ar");
    await page.getByRole("table").first().waitFor();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `it is ${overflow} pixels too wide in Arabic`);
    await close();
  });
}
