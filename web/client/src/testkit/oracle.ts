import { OracleApi } from "../core/api";
import { CredentialKeeper } from "../core/credentials";
import type { IRun, StoredMessage } from "../core/types";
import { FakeNetwork, FakeStream, json, type SeenRequest } from "../testing/wire";

export { FakeStream as Stream, json, type SeenRequest as Seen };

/** An oracle of which a test writes every frame: a history, a run and whatever it adds. */
export class FakeOracle extends FakeNetwork {
  readonly streams: FakeStream[] = [];
  history: StoredMessage[] = [];
  run: IRun | null = null;

  constructor() {
    super();
    this.on("GET", /^\/sessions\/[^/]+\/messages/, () =>
      json({ messages: this.history, prevCursor: null, hasOlder: false }),
    );
    this.on("GET", /^\/sessions\/[^/]+\/run$/, () => json({ run: this.run }));
    this.on("POST", /^\/messages\/abort$/, () => json({ success: true }));
  }

  /** Answers every message with a stream that the test writes. */
  streaming(runId?: string): this {
    return this.on("POST", /^\/messages\/(?!abort$)[^/]+$/, (_, signal) => {
      const stream = new FakeStream(signal);
      this.streams.push(stream);
      return stream.response({
        "X-Request-Id": `r-${this.streams.length}`,
        ...(runId ? { "X-Run-Id": runId } : {}),
      });
    });
  }

  stream(at = -1): FakeStream {
    const stream = this.streams.at(at);
    if (!stream) throw new Error("no stream was opened");
    return stream;
  }

  api(keeper = keeperOf({})): OracleApi {
    return new OracleApi("http://oracle.test", "did:oracle", keeper, this.fetch);
  }
}

/** A keeper that mints without a wallet and keeps nothing between pages. */
export function keeperOf(
  mints: ConstructorParameters<typeof CredentialKeeper>[1],
  storage: ConstructorParameters<typeof CredentialKeeper>[2] = memoryStorage(),
): CredentialKeeper {
  return new CredentialKeeper("did:user", mints, storage);
}

export function memoryStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

/** Waits until something holds, one task at a time: no clock is read. */
export async function until(holds: () => boolean, tries = 500): Promise<void> {
  for (let i = 0; i < tries; i++) {
    if (holds()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error("it never came true");
}
