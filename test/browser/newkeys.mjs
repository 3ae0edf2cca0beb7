// A lost key: the code that a new one shows, the notice to who has the old one, and what operators decide.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { check, looksRight, tooSmall, visitors } from "./visitor.mjs";

/** Requests can be approved at once. */
export const hasty = { NEW_KEY_WAIT: "off" };

const pin = "70382";

export function newKeyTests(world) {
  const { newcomer, stranger } = visitors(world);
  let calls = 0;

  /** Dials and types; returns the last screen. */
  async function dial(phoneNumber, ...inputs) {
    const sessionId = `new-keys-${++calls}`;
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
  async function accountOf(phoneNumber) {
    const made = await dial(phoneNumber, "2", "2", "Ann", "00", pin, pin);
    const account = /account ID is (C\w{8})/.exec(made)?.[1];
    assert.ok(account, made);
    return account;
  }

  /** Somebody in a browser whose key is linked with a telephone, and the telephone's account. */
  async function linked(phoneNumber, options) {
    const account = await accountOf(phoneNumber);
    const folder = mkdtempSync(join(tmpdir(), "castalia-key-"));
    const file = join(folder, "key");
    world.program.run("key", "new", "--out", file);
    // The file has the kind of the key in two bytes, and then its seed.
    const seed = Buffer.from(readFileSync(file, "utf8").trim().slice(1), "base64").subarray(2, 34);
    const { id } = await (await fetch(`${world.url}/.well-known/did.json`)).json();
    const what = ["--key", file, "--audience", id, "--can", "*", "--with", "ixo:oracle"];
    const token = world.program.run("ucan", "invoke", ...what).trim();
    rmSync(folder, { recursive: true });
    const reply = await fetch(`${world.url}/api/telephones`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}`, "X-Auth-Type": "ucan" },
      body: JSON.stringify({ account }),
    });
    const { code } = await reply.json();
    assert.match(await dial(phoneNumber, "2", "1", pin, "1", "1", "1", pin, code, "1"), /Your account is linked/);

    const who = await stranger(options);
    await who.visit("");
    await who.page.getByText("I have a key").click();
    await who.page.getByLabel("Your key: its text, or its 24 words").fill(seed.toString("hex"));
    await who.page.getByRole("button", { name: "Enter with this key" }).click();
    await who.page.getByRole("navigation", { name: "Pages" }).waitFor();
    return { ...who, account };
  }

  /** Somebody with a new key asks for the place of the one that is linked with the telephone. */
  async function asks(phoneNumber, account, options) {
    const who = await newcomer(options);
    await who.visit("about");
    const card = who.page.getByRole("region", { name: "Did you lose another key?" });
    await card.getByLabel("Account of your telephone").fill(account);
    await card.getByRole("button", { name: "Show a code" }).click();
    const code = (await card.getByText(/^\d{8}$/).innerText()).trim();
    const said = await dial(phoneNumber, "2", "1", pin, "1", "1", "3", pin, code, "1");
    assert.match(said, /Our staff will decide/);
    return { ...who, card };
  }

  test("a telephone is linked with a key, gets a new PIN, and is unlinked", async () => {
    const phone = "+254700222005";
    const account = await accountOf(phone);
    const { page, visit, close } = await newcomer();
    await visit("about");
    const card = page.getByRole("region", { name: "Your telephones" });
    await card.getByText("None is linked.").waitFor();
    // Typed as somebody reads it from a small screen, and sent by the keyboard.
    await card.getByLabel("Account of your telephone").fill(account.toLowerCase());
    await page.keyboard.press("Enter");
    await card.getByText(`log in to ${account}, choose My profile, then Link web`).waitFor();
    await looksRight(page, "telephones-code");
    const shown = (await card.getByText(/^\d{8}$/).innerText()).trim();
    assert.match(await dial(phone, "2", "1", pin, "1", "1", "1", pin, shown, "1"), /Your account is linked/);

    // The page that waits shows it by itself, and the code has gone.
    const one = card.getByRole("list", { name: "Linked telephones" }).getByRole("listitem");
    await one.getByText(account).waitFor();
    await card.getByText(shown).waitFor({ state: "detached" });
    await one.getByRole("button", { name: `Forgot its PIN? A code for ${account}` }).click();
    const reset = (await one.getByText(/^\d{8}$/).innerText()).trim();
    await looksRight(page, "telephones-linked");
    const fresh = "49275";
    assert.match(await dial(phone, "2", "1", "01", reset, fresh, fresh), /Welcome Ann/);
    assert.match(await dial(phone, "2", "1", fresh, "1"), /My profile/);

    await one.getByRole("button", { name: `Unlink ${account}` }).press("Enter");
    await page.getByText("It ends at once").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
    await card.getByText("None is linked.").waitFor();
    assert.match(await dial(phone, "2", "1", fresh, "1", "1"), /Link web/);
    await close();
  });

  test("who has the old key is told on an open page, and refuses", async () => {
    const phone = "+254700222001";
    const old = await linked(phone);
    const thief = await asks(phone, old.account);
    await old.visit("files");
    const notice = old.page.getByRole("region", { name: "A new key in the place of yours" });
    await notice.getByText(old.account).waitFor();
    for (const width of [360, 1280]) {
      await old.page.setViewportSize({ width, height: 740 });
      await check(old.page, `the notice of a new key at ${width}`);
    }
    await notice.getByRole("button", { name: "That was not me: refuse" }).click();
    await notice.getByText("Refused: your key stays as it is.").waitFor();
    await notice.getByRole("button", { name: "Unlink the telephone" }).click();
    await notice.getByText("is not linked with you any more").waitFor();
    await notice.getByRole("button", { name: "Close" }).click();
    await notice.waitFor({ state: "detached" });
    await thief.page.reload();
    await thief.card.getByText(/: refused\.$/).waitFor();
    await thief.close();
    await old.close();
  });

  test("an operator approves a new key and undoes it, and its page says so", async () => {
    const phone = "+254700222002";
    const old = await linked(phone);
    await old.close();
    const fresh = await asks(phone, old.account);
    await fresh.card.getByText(/can be approved from/).waitFor();

    const operator = await newcomer();
    await operator.visit("operator/accounts");
    const card = operator.page.getByRole("region", { name: "New keys for lost ones" });
    const own = card.getByRole("listitem").filter({ hasText: old.account });
    await own.getByText("waits").waitFor();
    assert.doesNotMatch(await own.innerText(), /700222002/);
    await own.getByRole("button", { name: "Approve the new key" }).click();
    await operator.page.getByText("Only if you found out who asks").waitFor();
    await operator.page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await own.getByText("approved", { exact: true }).waitFor();
    await fresh.page.reload();
    await fresh.card.getByText("This key is yours from now on").waitFor();

    await own.getByRole("button", { name: "Give the person" }).click();
    await operator.page.getByRole("dialog").getByRole("button", { name: "Undo" }).click();
    await own.waitFor({ state: "detached" });
    await card.getByLabel("Show those that are over, too").check();
    await own.getByText("undone", { exact: true }).waitFor();
    await operator.close();
    await fresh.close(["401"]);
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`the cards of new keys are accessible in ${colorScheme}, and fit 360 pixels`, async () => {
      const phone = colorScheme === "light" ? "+254700222003" : "+254700222004";
      const viewport = { width: 360, height: 740 };
      const old = await linked(phone);
      await old.close();
      const fresh = await asks(phone, old.account, { colorScheme, viewport, reducedMotion: "reduce" });
      await check(fresh.page, `the code for a new key in ${colorScheme}`);
      assert.deepEqual(await tooSmall(fresh.page), []);
      await fresh.visit("operator/accounts");
      const requests = fresh.page.getByRole("region", { name: "New keys for lost ones" });
      const own = requests.getByRole("listitem").filter({ hasText: old.account });
      await own.waitFor();
      for (const width of [360, 1280]) {
        await fresh.page.setViewportSize({ width, height: 740 });
        await check(fresh.page, `requests for new keys in ${colorScheme} at ${width}`);
      }
      await own.getByRole("button", { name: "Refuse the new key" }).click();
      await check(fresh.page, `a question before refusing in ${colorScheme}`);
      await fresh.page.getByRole("dialog").getByRole("button", { name: "Refuse" }).click();
      await own.waitFor({ state: "detached" });
      await fresh.close();
    });
  }
}
