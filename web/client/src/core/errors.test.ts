import { expect, test } from "vitest";
import { json } from "../testkit/oracle";
import { errorFrom } from "./errors";

test("a refusal has the oracle's name for it, where it gives one", async () => {
  const body = { statusCode: 409, message: "The oracle is still answering here" };
  const named = await errorFrom(json(body, 409, { "Castalia-Error": "run_active" }));
  expect(named).toMatchObject({ status: 409, code: "run_active", message: body.message, body });
  expect((await errorFrom(json(body, 409))).code).toBeUndefined();
  const unpaid = json({ claims: ["c-1"] }, 402, { "Castalia-Error": "payment_required" });
  expect(await errorFrom(unpaid)).toMatchObject({ claimIds: ["c-1"], code: "payment_required" });
});
