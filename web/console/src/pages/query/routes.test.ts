import { expect, test } from "vitest";
import { curlOf, findRoutes, linked, queryRoutes, requestOf, type Route } from "./routes";

const doc = {
  paths: {
    "/health": { get: { tags: ["Health"] } },
    "/api/fs/files": { get: { tags: ["files"] } },
    "/ixo/entity/{id}": {
      get: {
        summary: "Entity",
        tags: ["ixo.entity.v1beta1.Query"],
        parameters: [
          { name: "id", in: "path", required: true },
          { name: "pagination.limit", in: "query" },
          { name: "x-cosmos-block-height", in: "header" },
        ],
      },
    },
    "/x/y": {},
  },
};
const route = queryRoutes(doc)[0] as Route;

test("only what the chain answers is offered", () => {
  expect(queryRoutes(doc).map((r) => r.path)).toEqual(["/ixo/entity/{id}"]);
  expect(findRoutes(queryRoutes(doc), "ENTITY v1beta1")).toHaveLength(1);
  expect(findRoutes(queryRoutes(doc), "entity token")).toHaveLength(0);
});

test("a link leads to a route by its end, and fills in what the route has", () => {
  const routes = queryRoutes(doc);
  expect(linked(routes, "?route=/entity/{id}&id=did:x&other=1")).toEqual({
    path: "/ixo/entity/{id}",
    values: { id: "did:x" },
  });
  for (const search of ["", "?id=did:x", "?route=/nowhere", "?route="]) {
    expect(linked(routes, search)).toBeUndefined();
  }
});

test("fields become an address", () => {
  expect(requestOf(route, {}).missing).toEqual(["id"]);
  expect(
    requestOf(route, {
      id: "did:ixo:entity:a b",
      "pagination.limit": "2",
      "x-cosmos-block-height": "7",
    }),
  ).toEqual({
    address: "/ixo/entity/did:ixo:entity:a%20b?pagination.limit=2",
    headers: { "x-cosmos-block-height": "7" },
    missing: [],
  });
});

test("a curl line is safe to paste", () => {
  const request = requestOf(route, { id: "it's", "x-cosmos-block-height": "7" });
  expect(curlOf("http://h", request)).toBe(
    `curl -s -H 'x-cosmos-block-height: 7' 'http://h/ixo/entity/it'\\''s'`,
  );
});
