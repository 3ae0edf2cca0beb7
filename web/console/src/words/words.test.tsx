// @vitest-environment jsdom
import { english } from "@castalia/oracles-ui";
import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { chosen, askingIn, explained, Say, say, startWords, type Key } from ".";
import { translate } from "./labels";
import { parse, parts } from "./message";
import { marked } from "./pseudo";

afterEach(cleanup);

test("the language is the first of those wanted that there is", () => {
  const offered = [{ code: "en" }, { code: "fr" }, { code: "ar" }];
  expect(chosen([null, null, "sw-KE", "ar-EG", "fr"], offered)).toBe("ar");
  expect(chosen([null, "fr", "ar"], offered)).toBe("fr");
  expect(chosen(["pseudo", "fr"], offered)).toBe("pseudo");
  expect(chosen([null, null, "sw"], offered)).toBe("en");
});

test("English is there without loading", () => {
  expect(say("shell.hours", { n: 3 })).toBe("3 hours");
});

test("what is drawn has its values in place", () => {
  const { container } = render(
    <p>
      <Say id="shell.hours" values={{ n: 1 }} />
      <Say id={"ui.cannotShow" as Key} values={{ problem: <em>it</em> }} />
    </p>,
  );
  expect(container.innerHTML).toBe("<p>1 hourThis part cannot be shown: <em>it</em></p>");
});

test("the library's labels are said in English as the library says them", () => {
  const translated = translate();
  for (const [name, label] of Object.entries(english)) {
    const mine = translated[name as keyof typeof translated] as unknown;
    if (typeof label !== "function") {
      expect(mine, name).toBe(label);
      continue;
    }
    const values: unknown[][] =
      name === "when"
        ? [["2026-11-15T12:00:00Z"]]
        : name === "refused"
          ? [[{ status: 410, code: "invitation_over", message: "It ended on Monday" }]]
          : [
              [1, 2],
              [1536, 1],
              [5e12, 7],
            ];
    const both = [mine, label] as ((...given: unknown[]) => string)[];
    for (const given of values) {
      const [is, wanted] = both.map((f) => f(...given).replaceAll("\u202f", " "));
      // The library passes names as they are; numbers that are no quantities come out the same.
      expect(is?.replaceAll(",", ""), name).toBe(wanted?.replaceAll(",", ""));
    }
  }
});

test("the pseudo-language marks, accents and lengthens, and keeps what is put in", () => {
  const message = marked(
    parse("Delete {n, plural, one {# file} other {# files}} of <b>{name}</b>?"),
  );
  const said = parts<string>(
    message,
    "en",
    (name) => (name === "n" ? 2 : "Asha"),
    (_, inside) => inside.join(""),
  );
  expect(said.join("")).toMatch(/^⟦Délété 2 fíléš óf Asha\?.+⟧$/);
});

test("from right to left a name is kept apart, and a choice is still made by what was given", async () => {
  history.replaceState(null, "", "?language=ar");
  await startWords();
  expect(say("operator.chain", { name: "pocket" })).toBe("Chain \u2068pocket\u2069");
  expect(say("operator.half", { half: "hearing" })).toBe("hears");
  const { container } = render(<Say id="operator.half" values={{ half: "hearing" }} />);
  expect(container.textContent).toBe("hears");
  history.replaceState(null, "", "?language=en");
  await startWords();
});

test("readers of English get the server's words of a failure, others those of their language", async () => {
  const failure = { status: 410, code: "invitation_over", message: "It ended on Monday" };
  expect(explained(failure)).toBe("It ended on Monday");
  history.replaceState(null, "", "?language=sw");
  await startWords();
  await vi.waitFor(() =>
    expect(explained(failure)).toBe("The invitation is over. Ask for a new one."),
  );
  history.replaceState(null, "", "?language=en");
  await startWords();
  expect(explained(failure)).toBe("It ended on Monday");
});

test("what the server says itself is asked for in the language that is shown, of our server alone", async () => {
  const plain = vi.fn<typeof fetch>(() => Promise.resolve(new Response()));
  const ask = askingIn("sw", plain);
  const asked = () => new Headers(plain.mock.calls.at(-1)?.[1]?.headers);
  await ask("/operator/health", { method: "POST", headers: { Authorization: "Bearer x" } });
  expect([asked().get("Accept-Language"), asked().get("Authorization")]).toEqual([
    "sw",
    "Bearer x",
  ]);
  expect(plain.mock.calls[0]?.[1]?.method).toBe("POST");
  await ask(new Request(new URL("/a", location.href), { headers: { "If-Match": "1" } }));
  expect([asked().get("Accept-Language"), asked().get("If-Match")]).toEqual(["sw", "1"]);
  await ask("/a", { headers: { "Accept-Language": "fr" } });
  expect(asked().get("Accept-Language")).toBe("fr");
  await ask("https://elsewhere.example/a");
  expect(plain.mock.calls.at(-1)?.[1]).toBeUndefined();
});
