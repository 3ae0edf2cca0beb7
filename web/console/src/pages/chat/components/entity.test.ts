import { expect, test } from "vitest";
import { readEntity } from "./entity";

const id = "did:ixo:entity:1";

test("an entity is read with its document, whichever way the gateway writes names", () => {
  const entity = {
    id,
    type: "oracle",
    status: 2,
    entity_verified: true,
    start_date: "2026-01-01T00:00:00Z",
  };
  const document = {
    alsoKnownAs: "Castalia",
    controller: ["did:key:z6"],
    service: [{ id: "{id}#api", type: "oracleService", serviceEndpoint: "https://a.test" }],
    linkedResource: [
      {
        id: "{id}#fee",
        type: "Fees",
        description: "What it costs",
        mediaType: "a/b",
        encrypted: "false",
      },
      { id: "{id}#key", type: "Key", encrypted: "true" },
    ],
  };
  const read = readEntity({ entity, iidDocument: document });
  expect(read).toEqual({
    id,
    name: "Castalia",
    type: "oracle",
    isVerified: true,
    status: "2",
    from: "2026-01-01T00:00:00Z",
    until: "",
    controllers: ["did:key:z6"],
    services: [{ name: "api", type: "oracleService", endpoint: "https://a.test" }],
    resources: [
      { name: "fee", about: "What it costs", type: "Fees", isEncrypted: false },
      { name: "key", about: "Key", type: "Key", isEncrypted: true },
    ],
  });
  expect(readEntity({ entity, iid_document: document })).toEqual(read);
});

test("what is missing is left out, and what is no entity is refused", () => {
  expect(readEntity({ entity: { id } })).toMatchObject({
    id,
    name: "",
    type: "",
    status: "",
    services: [],
  });
  for (const bad of [
    null,
    7,
    {},
    { entity: null },
    { entity: { id: 7 } },
    { entity: { id: "" } },
  ]) {
    expect(readEntity(bad)).toBeUndefined();
  }
  const hostile = {
    entity: { id, type: { a: 1 } },
    iidDocument: { service: "x", linkedResource: [null, 7] },
  };
  expect(readEntity(hostile)).toMatchObject({ type: "", services: [], resources: [] });
});
