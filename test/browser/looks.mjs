// How every page looks: in light and dark, on a telephone and on a screen, to eyes, fingers and axe.
import assert from "node:assert/strict";
import { test } from "node:test";
import { paths } from "./paths.mjs";
import { answered, checkLooks, say, tooSmall, visitors, walks } from "./visitor.mjs";
import { eventually } from "./world.mjs";

const sizes = [
  { width: 360, height: 740 },
  { width: 1280, height: 800 },
];

const long = `tell me all of it

| Spring | Litres a day | Temperature | Who keeps it | Remarks |
|---|---:|---|---|---|
| Castalia | 4,200 | 11 °C | The committee of the village | clear all year, a little hard |

\`\`\`
a line of code that is longer than a telephone is wide, and that is wrapped
\`\`\`

${"And a line of a long text.\n".repeat(20)}`;

/** One shape is enough: how a page looks does not depend on what is behind it. */
export function lookTests(world) {
  const { stranger } = visitors(world);

  for (const schemes of walks) {
    test(`every page is accessible in ${schemes.join(" and ")}, and fits 360 pixels as well as 1280`, async () => {
      const { page, visit, close } = await stranger({
        colorScheme: schemes[0],
        viewport: sizes[0],
        reducedMotion: "reduce",
      });
      const small = new Set();
      const checkBoth = async (name) => {
        await eventually(
          "nothing is being asked for",
          async () => (await page.locator("[aria-busy=true]").count()) === 0,
        );
        await checkLooks(page, name, schemes, sizes, async (width) => {
          if (width === sizes[0].width) for (const control of await tooSmall(page)) small.add(control);
        });
        await page.setViewportSize(sizes[0]);
      };
      await visit("");
      await page.getByRole("button", { name: "Make a key and enter" }).waitFor();
      await checkBoth("sign-in");
      await page.getByRole("button", { name: "Make a key and enter" }).click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
      for (const path of paths) {
        await visit(path);
        await page.getByRole("heading", { level: 1 }).first().waitFor();
        await checkBoth(path);
      }
      await visit("chat");
      await say(page, "think about water");
      await answered(page, "onerror");
      await say(page, 'call show_chart {"title":"Litres","labels":["Mon","Tue"],"values":[3,5]}');
      await answered(page, "The tool said");
      await page.getByText("Reasoning").click();
      await say(page, "call list_capabilities {}");
      await answered(page, "The tool said");
      await page.locator("details.castalia-tool summary").last().click();
      await checkBoth("a conversation");
      await say(page, long);
      await answered(page, "And a line");
      await checkBoth("a long answer");
      await page.getByRole("button", { name: "Attach files" }).click();
      await page.getByText("No such files.").waitFor();
      await checkBoth("the picker");
      await page.keyboard.press("Escape");
      await visit("chat");
      await page.getByLabel("Search conversations").fill("water");
      await page.locator(".castalia-sessions mark").first().waitFor();
      await checkBoth("a search");
      await page.getByRole("button", { name: /^Delete/ }).click();
      await checkBoth("a question before deleting");
      await page.keyboard.press("Escape");
      await visit("telephone");
      await page.getByRole("button", { name: /^Dial/ }).click();
      await page.getByText("1. Know More").waitFor();
      await checkBoth("a call");
      await visit("about");
      await page.getByRole("button", { name: "Export the key" }).click();
      await checkBoth("an exported key");
      await page.request.post(`${world.url}/api/ussd`, {
        data: {
          sessionId: "walked",
          serviceCode: "*2233#",
          phoneNumber: "+254700111223",
          text: "",
        },
      });
      await visit("operator/sessions/walked");
      await page.getByText("What the caller sees").waitFor();
      await checkBoth("operator/sessions/walked");
      await visit("operator/menu");
      await page.getByText("preMenu").first().waitFor();
      await checkBoth("operator/menu with counts");
      const spring = (name) => ({
        name,
        mimeType: "text/plain",
        buffer: Buffer.from(`The spring of ${name} rises at Delphi.\n`),
      });
      const wordy = `${"minutes_of_the_water_committee_".repeat(4)}signed.txt`;
      await visit("files/Minutes of all meetings/The first half of the year");
      await page.getByLabel("Files to upload").setInputFiles([spring(wordy), spring("away.txt")]);
      await page.getByRole("button", { name: "Move away.txt to the trash" }).click();
      await page.getByRole("button", { name: wordy, exact: true }).waitFor();
      await page
        .getByRole("button", { name: "away.txt", exact: true })
        .waitFor({ state: "detached" });
      await checkBoth("files with long names");
      await page.getByRole("tab", { name: "Trash" }).click();
      await page.getByRole("button", { name: "Destroy away.txt" }).click();
      await checkBoth("files to destroy");
      await page.keyboard.press("Escape");
      await visit("files");
      await page.getByLabel("Files to upload").setInputFiles(spring("spring.txt"));
      await page.getByRole("checkbox", { name: "Choose spring.txt" }).check();
      await checkBoth("files");
      await page.getByRole("button", { name: "Share", exact: true }).click();
      await checkBoth("the share dialog");
      await page.getByRole("button", { name: "Make the link" }).click();
      const link = await page.getByLabel("The link", { exact: true }).inputValue();
      await checkBoth("the share dialog with a link");
      await page.keyboard.press("Escape");
      await page.getByRole("tab", { name: "Links" }).click();
      await page.getByRole("button", { name: "End the link to spring.txt" }).waitFor();
      await checkBoth("files shared");
      await page.getByRole("tab", { name: "Files" }).click();
      await page.getByRole("button", { name: "spring.txt", exact: true }).click();
      await page.getByRole("region", { name: "Preview of spring.txt" }).waitFor();
      await checkBoth("a file");
      await visit("link#used");
      await page.getByText("no team chat to link").waitFor();
      await checkBoth("link");
      await visit("share#nothing");
      await page.getByText("This link is not complete").waitFor();
      await checkBoth("share");
      await page.goto("about:blank");
      await page.goto(link);
      await page.getByRole("region", { name: "Preview of spring.txt" }).waitFor();
      await checkBoth("a shared file");
      assert.deepEqual([...small], [], "too small for a finger");
      await close(["404"]);
    });
  }
}
