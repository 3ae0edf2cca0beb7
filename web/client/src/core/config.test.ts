import { describe, expect, test } from "vitest";
import { FakeOracle, json } from "../testkit/oracle";
import { readEntity, resolveOracle } from "./config";

const inline = (value: unknown) =>
  `data:application/json;base64,${Buffer.from(JSON.stringify(value)).toString("base64")}`;
const nothing = { apiUrl: null, socketUrl: null, model: null, price: null, name: null };

describe("readEntity", () => {
  const services = [
    { id: "{id}#other", type: "web", serviceEndpoint: "https://web.example" },
    { id: "{id}#api", type: "oracleService", serviceEndpoint: "https://api.example/v1/" },
    { id: "{id}#ws", type: "wsService", serviceEndpoint: "wss://ws.example/socket" },
  ];
  const linked = [
    {
      id: "{id}#fee",
      serviceEndpoint: inline({
        name: "Ürsula",
        offers: { priceSpecification: { price: 5, priceCurrency: "IXO" } },
      }),
    },
    { id: "{id}#model", serviceEndpoint: inline({ model: "m-1" }) },
  ];
  const all = {
    apiUrl: "https://api.example",
    socketUrl: "wss://ws.example",
    model: "m-1",
    price: { amount: "5", currency: "IXO" },
    name: "Ürsula",
  };

  test("reads both casings and both places", () => {
    expect(readEntity({ iidDocument: { service: services, linkedResource: linked } })).toEqual(all);
    const snake = <T extends { serviceEndpoint: string }>({ serviceEndpoint, ...rest }: T) => ({
      ...rest,
      service_endpoint: serviceEndpoint,
    });
    expect(
      readEntity({
        iid_document: { service: services.map(snake), linked_resource: linked.map(snake) },
      }),
    ).toEqual(all);
    expect(readEntity({ entity: { service: services } })).toMatchObject({
      apiUrl: "https://api.example",
    });
  });

  test("the fragment of the id is enough", () => {
    const service = [{ id: "did:x#api", serviceEndpoint: "http://localhost:3000/x" }];
    expect(readEntity({ entity: { service } }).apiUrl).toBe("http://localhost:3000");
  });

  test.each([
    undefined,
    null,
    "text",
    [],
    { entity: { service: {} } },
    { entity: { service: [null, 1, { id: 5, type: "oracleService" }] } },
    {
      iidDocument: {
        service: "x",
        linkedResource: [null, { id: 7 }, { id: "#fee", serviceEndpoint: 3 }],
      },
    },
    { iidDocument: { linkedResource: [{ id: "#fee", serviceEndpoint: "data:;base64,%%%" }] } },
  ])("what is not there or is rubbish is null: %j", (reply) => {
    expect(readEntity(reply)).toEqual(nothing);
  });

  test.each(["javascript:alert(1)", "data:text/plain,x", "file:///etc/passwd", "not a url"])(
    "%s is no address of an oracle",
    (serviceEndpoint) => {
      const service = [
        { type: "oracleService", serviceEndpoint },
        { type: "wsService", serviceEndpoint },
      ];
      expect(readEntity({ entity: { service } })).toEqual(nothing);
    },
  );
});

describe("resolveOracle", () => {
  test("asks the gateway for the entity", async () => {
    const oracle = new FakeOracle().on("GET", /./, () => json({}));
    await resolveOracle("http://gate.test/ixo//", "did:ixo:entity:1/2", oracle.fetch);
    expect(oracle.seen[0]?.path).toBe("/ixo/entity/did%3Aixo%3Aentity%3A1%2F2");
  });

  test("says what the gateway said", async () => {
    const oracle = new FakeOracle();
    await expect(resolveOracle("http://g/ixo", "d", oracle.fetch)).rejects.toThrow("Cannot GET");
  });
});
