import { expect, test } from "vitest";
import { Refusal, refusal } from "./refusal";

const reply = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers });

test("a refusal has the server's words and its name for programs", async () => {
  const why = await refusal(
    reply(
      410,
      { statusCode: 410, message: "The invitation is over", error: "Gone" },
      { "Castalia-Error": "invitation_over" },
    ),
  );
  expect(why).toBeInstanceOf(Refusal);
  expect([why.status, why.code, why.said]).toEqual([
    410,
    "invitation_over",
    "The invitation is over",
  ]);
  // Who reads English reads what the server says, which names more than any other words.
  expect(why.message).toBe("The invitation is over");
});

test("bodies of the file store name it themselves", async () => {
  const why = await refusal(reply(403, { error: "link_over", message: "the link is over" }));
  expect(why.code).toBe("link_over");
});

test("what is wrong inside is called as the body calls it, if it does", async () => {
  const inside = { "Castalia-Error": "internal" };
  expect((await refusal(reply(500, { error: "corrupt" }, inside))).code).toBe("corrupt");
  expect((await refusal(reply(500, { error: "Internal Server Error" }, inside))).code).toBe(
    "internal",
  );
});

test("a list of faults is one sentence, and what is no JSON is told by its status", async () => {
  expect((await refusal(reply(400, { message: ["a is empty", "b is long"] }))).said).toBe(
    "a is empty; b is long",
  );
  const silent = await refusal(new Response("<html>", { status: 502 }));
  expect([silent.said, silent.message]).toEqual(["", "The server answered 502"]);
});
