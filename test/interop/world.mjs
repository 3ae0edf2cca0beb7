// The program under test: its command line, and a server of it on a folder of its own.
import { execFile, spawn } from "node:child_process";
import { createCipheriv, createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const binary = process.env.CASTALIA_BINARY ?? resolve(fileURLToPath(import.meta.url), "../../../bin/castalia");

/** Bytes that a seed and a size decide, so that a failure can be repeated. */
export function bytes(seed, size) {
  const key = createHash("sha256").update(`${seed}/${size}`).digest();
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

// A fleet that stands for the program (test/fleet) has to know where its parts are.
const passed = ["PATH", "CASTALIA_REAL", ...(process.env.CASTALIA_REAL ? ["TEST_POSTGRES_URL", "TEST_S3_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] : [])];
export const environment = Object.fromEntries(passed.filter((name) => process.env[name]).map((name) => [name, process.env[name]]));

/** Runs a command that must succeed, with something on its standard input, and returns what it printed. */
export function castalia(args, input = "") {
  return new Promise((done, fail) => {
    const child = execFile(binary, args, { env: environment }, (error, stdout) => (error ? fail(error) : done(stdout.trim())));
    child.stdin.on("error", () => {}); // it may end without reading; its exit code tells
    child.stdin.end(input);
  });
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until fn is content; half a minute is the limit of a broken program. */
export async function eventually(what, fn) {
  const deadline = Date.now() + 30_000;
  let last;
  while (Date.now() < deadline) {
    try {
      if (await fn()) return;
    } catch (cause) {
      last = cause;
    }
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`waited in vain until ${what()}`, { cause: last });
}

// What servers said is shown when a test failed: a fleet's nodes are gone by then.
const shownLines = 1000;
const logs = [];
process.on("exit", (code) => {
  if (code !== 0) for (const log of logs) process.stderr.write(`the end of a server's log:\n${log().split("\n").slice(-shownLines).join("\n")}\n`);
});

/** A server in its embedded shape, and somebody's key. */
export class World {
  #program;
  #exited;
  #log = "";

  /** Starts a server; env are settings beside the usual ones, or a function that makes them of its address. */
  static async start(env = {}) {
    const world = new World();
    logs.push(() => world.#log);
    world.folder = mkdtempSync(join(tmpdir(), "castalia-interop-"));
    world.port = await freePort();
    world.url = `http://127.0.0.1:${world.port}`;
    world.env = typeof env === "function" ? env(world.url) : env;
    await world.run();
    const key = join(world.folder, "me.key");
    world.key = key;
    world.did = await castalia(["key", "new", "--out", key]);
    world.service = (await (await fetch(`${world.url}/.well-known/did.json`)).json()).id;
    return world;
  }

  /** Starts the program; after kill, on the same port and folder. */
  async run() {
    this.#program = spawn(binary, ["serve"], {
      cwd: this.folder,
      env: {
        ...environment,
        HOME: this.folder,
        CASTALIA_DATA: join(this.folder, "data"),
        HOST: "127.0.0.1",
        PORT: String(this.port),
        NODE_URL: this.url,
        RATE_LIMIT_PER_MINUTE: "0",
        ...this.env,
      },
    });
    for (const stream of [this.#program.stdout, this.#program.stderr]) stream.on("data", (text) => (this.#log += text));
    this.#exited = once(this.#program, "exit");
    await eventually(
      () => `the program is ready:\n${this.#log}`,
      async () => {
        if (this.#program.exitCode !== null) throw new Error(`exit code ${this.#program.exitCode}`);
        return (await fetch(`${this.url}/ready`)).ok;
      },
    );
  }

  /** Whether the program runs. */
  get alive() {
    return this.#program.exitCode === null && this.#program.signalCode === null;
  }

  /** Ends the program at once, as a power cut does. */
  async kill() {
    this.#program.kill("SIGKILL");
    await this.#exited;
  }

  async stop() {
    this.#program.kill("SIGTERM");
    await this.#exited;
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A token of the key's owner for their files. */
  token(can = "*", ...options) {
    const resource = `vfs://${encodeURIComponent(this.did)}`;
    return castalia(["ucan", "invoke", "--key", this.key, "--audience", this.service, "--can", can, "--with", resource, ...options]);
  }

  /** What is stored at a path, as a reader gets it. */
  async read(path) {
    const response = await fetch(`${this.url}/api/fs/content?path=${encodeURIComponent(path)}`, {
      headers: { authorization: `Bearer ${await this.token("fs/read")}` },
    });
    if (!response.ok) throw new Error(`read ${path}: ${response.status} ${await response.text()}`);
    return { headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  }
}
