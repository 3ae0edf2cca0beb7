// Tokens that the program itself makes.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./world.mjs";

const root = resolve(fileURLToPath(import.meta.url), "../../..");

/** A token of a key that the server took once, and takes no more. The key is made when it is not there. */
export async function endedToken(url, keyFile) {
  const binary = process.env.CASTALIA_BINARY ?? join(root, "bin/castalia");
  if (!existsSync(keyFile)) execFileSync(binary, ["key", "new", "--out", keyFile]);
  const { id } = await (await fetch(`${url}/.well-known/did.json`)).json();
  const what = [
    "--key",
    keyFile,
    "--audience",
    id,
    "--can",
    "*",
    "--with",
    "ixo:oracle",
    "--ttl",
    "1s",
  ];
  const token = execFileSync(binary, ["ucan", "invoke", ...what], { encoding: "utf8" }).trim();
  const headers = { Authorization: `Bearer ${token}`, "X-Auth-Type": "ucan" };
  await eventually("the token has ended", async () => {
    return (await fetch(`${url}/sessions`, { headers })).status === 401;
  });
  return token;
}
