import { expect, test } from "vitest";
import { fromPrivateText, newKey, readToken } from "@castalia/oracles-client/wallet";
import { inWords, makeShare, plainPath, resource, type Offer } from "./grant";

const session = {
  key: { ...newKey(), protection: "readable" as const },
  serviceDid: "did:key:service",
};
const files: Offer = {
  what: { kind: "files", cids: ["bafy1", "bafy2"], names: ["a.txt", "b.txt"] },
  hours: 24,
  maxUses: 3,
};
const folder: Offer = { what: { kind: "folder", path: "/Reports" }, hours: 168, maxUses: 0 };

test("an offer is told in words", () => {
  expect(inWords(files).grants).toEqual([
    "Whoever has the link can read exactly this content: a.txt, b.txt.",
    "A newer version of a file is other content, and is not included.",
    "It ends after one day, or when it has been read 3 times.",
  ]);
  expect(inWords(files).keeps).toContain(
    "Nothing else is visible, except the names of files with identical content.",
  );
  expect(inWords({ ...folder, to: "did:key:z" }).grants).toEqual([
    "The holder of that DID can list and read everything in /Reports, also what you put there later.",
    "It ends after 7 days.",
  ]);
  expect(inWords({ ...folder, hours: 1 }).grants[1]).toBe("It ends after one hour.");
});

test("the delegation says exactly what the words say", async () => {
  const made = await makeShare(session, files, "https://castalia.example");
  const { hash, pathname } = new URL(made.link);
  expect(pathname).toBe("/console/share");
  const fields = new URLSearchParams(hash.slice(1));
  const token = readToken(fields.get("token") ?? "");
  expect(token.audience).toBe(fromPrivateText(fields.get("key") ?? "").did);
  expect(token.issuer).toBe(session.key.did);
  expect(token.capabilities).toEqual([
    { can: "fs/read", with: resource(session.key.did), nb: { cids: ["bafy1", "bafy2"] } },
  ]);
});

test("a plain address is for one file or one folder, and says that it is the secret", () => {
  const one: Offer["what"] = {
    kind: "files",
    cids: ["bafy1"],
    names: ["a.txt"],
    paths: ["/a.txt"],
  };
  expect(plainPath(one)).toBe("/a.txt");
  expect(plainPath({ ...one, paths: ["/a.txt", "/b.txt"] })).toBeUndefined();
  expect(plainPath({ ...one, paths: [] })).toBeUndefined();
  expect(plainPath(folder.what)).toBe("/Reports");
  const words = inWords({ what: one, hours: 24, maxUses: 2, isPlain: true });
  expect(words.grants).toEqual([
    expect.stringContaining("a.txt, always in its newest version"),
    expect.stringContaining("The address is the secret."),
    "It ends after one day, or when it has been read 2 times.",
  ]);
});

test("a folder is a place below the namespace", async () => {
  const made = await makeShare(session, { ...folder, to: newKey().did }, "https://x.example");
  expect(new URLSearchParams(new URL(made.link).hash.slice(1)).has("key")).toBe(false);
  expect(readToken(made.delegation).capabilities[0]?.with).toBe(
    `vfs://${encodeURIComponent(session.key.did)}/Reports`,
  );
  expect(resource("did:key:z", "/a b/ü")).toBe("vfs://did%3Akey%3Az/a%20b/%C3%BC");
});

test("an upload link says what it takes, and that nobody reads", () => {
  const takes = { maxBytes: 1 << 30, maxFiles: 10 };
  const what = { kind: "folder" as const, path: "/inbox" };
  const words = inWords({ what, hours: 24, maxUses: 0, takes });
  expect(words.grants[0]).toContain("can send files to /inbox");
  expect(words.grants[1]).toBe(
    "It ends after one day, 10 files or 1.0 GiB, whichever comes first.",
  );
  expect(words.keeps[0]).toContain("Nobody sees what is in the folder");
});
