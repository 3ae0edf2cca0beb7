// The documentation at /docs: found, copied, tried with the console's key, and never by itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkLooks, copied, visitors } from "./visitor.mjs";

export function docsTests(world) {
  const { newcomer, stranger } = visitors(world);
  const hasKey = (page) => page.getByText("The console’s key in this browser").waitFor();
  const route = (page, id) => page.locator(`[id="${id}"]`);

  test("a route is found, shown as programs, and tried with the console's key", async () => {
    const { page, close } = await newcomer();
    await page.goto(`${world.url}/docs`);
    await hasKey(page);
    await page.keyboard.press("/");
    await page.keyboard.type("begin session");
    await page.getByText(/^\d of \d+ routes$/).waitFor();
    await page.getByLabel("Search the routes").fill("");
    await page.goto(`${world.url}/docs#GET/sessions`);
    const sessions = route(page, "GET/sessions");
    await sessions.getByRole("tab", { name: "curl" }).focus();
    await page.keyboard.press("ArrowRight");
    const tab = sessions.getByRole("tab", { name: "JavaScript" });
    assert.equal(await tab.getAttribute("aria-selected"), "true");
    await sessions.getByRole("button", { name: "Copy: The request as a program" }).click();
    await sessions.getByText("Copied").waitFor();
    const text = await copied(page);
    assert.match(text, new RegExp(`^const reply = await fetch\\("${world.url}/sessions"`));
    await sessions.getByRole("button", { name: /^Send as did:key:/ }).focus();
    await page.keyboard.press("Enter");
    await sessions.locator(".act .status", { hasText: "200" }).waitFor();
    await sessions.getByLabel("Response body").filter({ hasText: '"sessions": [' }).waitFor();
    assert.equal(await sessions.getByLabel("The token that was sent", { exact: true }).count(), 0);
    await sessions.getByRole("button", { name: "Show the token that was sent" }).click();
    assert.ok((await sessions.getByLabel("The token that was sent", { exact: true }).textContent()).length > 200);
    await close();
  });

  test("files are tried with a token for files, operators' routes with one for operators", async () => {
    const { page, close } = await newcomer();
    for (const [id, status] of [["PUT/api/fs/content", /^20/], ["GET/api/fs/content", /^200/], ["GET/operator/plugins", /^(200|403)/]]) {
      await page.goto(`${world.url}/docs#${id}`);
      await page.reload();
      await hasKey(page);
      const one = route(page, id);
      await one.getByRole("button", { name: /^Send as / }).click();
      await one.getByLabel("Response body").waitFor();
      assert.match(await one.locator(".act .status").textContent(), status, id);
    }
    await close(["403"]);
  });

  test("an address fills in nothing and sends nothing", async () => {
    const { page, close } = await newcomer();
    const asked = [];
    page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    for (const end of ["#POST/sessions", "?send=1#DELETE/sessions/{sessionId}", "#DELETE/sessions/{sessionId}?sessionId=x", "#%", "#main"]) {
      await page.goto("about:blank");
      await page.goto(`${world.url}/docs${end}`);
      await hasKey(page);
    }
    await page.goto(`${world.url}/docs#DELETE/sessions/{sessionId}`);
    await page.reload();
    await hasKey(page);
    const field = route(page, "DELETE/sessions/{sessionId}").getByLabel(/^sessionId/);
    assert.equal(await field.inputValue(), "", "what deletes is typed by hand");
    const own = /^GET \/(docs(-json|\/[a-z]+\.(js|css|svg))?|\.well-known\/did\.json|console\/(signer\.js|assets\/.*))$/;
    assert.deepEqual(asked.filter((a) => !own.test(a)), []);
    await close();
  });

  test("who has no key is told where to get one", async () => {
    const { page, close } = await stranger();
    await page.goto(`${world.url}/docs#GET/sessions`);
    await page.getByText("There is no key in this browser.").waitFor();
    await page.getByRole("link", { name: "Open the console" }).waitFor();
    await route(page, "GET/sessions").getByRole("button", { name: "Send without a credential" }).click();
    await route(page, "GET/sessions").locator(".act .status", { hasText: "401" }).waitFor();
    await close(["401"]);
  });

  test("the documentation fits telephones and both schemes", async () => {
    const { page, close } = await newcomer();
    await page.goto(`${world.url}/docs#PUT/api/fs/content`);
    await hasKey(page);
    await route(page, "PUT/api/fs/content").getByRole("button", { name: /^Send as / }).waitFor();
    await checkLooks(page, "/docs", ["light", "dark"], [360, 1280].map((width) => ({ width, height: 800 })));
    await close();
  });
}
