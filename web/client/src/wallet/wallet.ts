import type { MintedToken } from "../core/credentials";
import { errorFrom, naming } from "../core/errors";
import type { OraclesOptions, TransactSignX } from "../core/options";
import type { IWallet } from "../core/types";
import type { FileToken } from "../files/bearer";
import type { Signer } from "./key";
import { filesOf, mintToken, namespace, talking } from "./rights";
import { browserKeyStore } from "./store";
import type { Capability } from "./ucan";
import { Vault, type Protection } from "./vault";

/** How long tokens are good for: who calls, what the oracle may do, and the user's own files. */
const lives = { invocation: 10 * 60, delegation: 24 * 3600, files: 3600 };

/** A token for files is renewed so long before its end. */
const margin = 60_000;

export interface WalletOptions {
  /** Where the oracle is. Tokens are for the service there, whichever DID a hook names. */
  server: string;
  /** What the oracle may do with the user's files: nothing unless given. */
  files?: "read" | "write";
  /** The user's Matrix session, if there is one. */
  matrix?: IWallet["matrix"];
  /** Signs and broadcasts chain transactions; this wallet has no account on a chain. */
  transactSignX?: TransactSignX;
}

/** A key that signs what an oracle's pages need. */
export interface Wallet {
  /** Who the user is. */
  readonly did: string;
  /** The oracle at the server. */
  readonly oracleDid: string;
  /** What `OraclesProvider` needs, `<OraclesProvider {...wallet.provider}>`, and `createOracles` too. */
  readonly provider: OraclesOptions & { transactSignX: TransactSignX };
  /** A token for all of the user's files, as `useFiles` and `useAttachments` want it. */
  readonly fileToken: FileToken;
  /** Lets the oracle read this content beside what it may do, as `useAttachments` wants it. */
  readonly grant: (cids: string[]) => Promise<string>;
}

/** A wallet whose key lies in this browser. */
export interface BrowserWallet extends Wallet {
  /** Whether script on this origin could read the key. */
  readonly protection: Protection;
  /** The key in digits, for a copy. It fails when the key was locked. */
  backup(): Promise<string>;
  /** From now on nothing can tell the key any more; it still signs. */
  lock(): Promise<void>;
  /** Takes the key out of this browser. Without a copy the user's name is lost. */
  forget(): Promise<void>;
}

export interface BrowserWalletOptions extends WalletOptions {
  /** The database of this origin that holds the key. */
  database?: string;
}

/** A wallet of a key that you have: anything that signs with Ed25519 for its DID. */
export async function createWallet(signer: Signer, options: WalletOptions): Promise<Wallet> {
  const { did } = signer;
  const oracleDid = await serviceDid(options.server);
  const allowed: Capability[] = [talking, ...(options.files ? [filesOf(did, options.files)] : [])];
  const mint = (capabilities: Capability[], seconds: number) =>
    mintToken(signer, oracleDid, capabilities, seconds);
  let files: MintedToken | undefined;
  return {
    did,
    oracleDid,
    provider: {
      initialWallet: {
        address: did,
        did,
        matrix: options.matrix ?? { accessToken: "", homeServer: "" },
      },
      transactSignX:
        options.transactSignX ??
        (() => Promise.reject(new Error("This wallet has no account on a chain"))),
      createDelegation: () => mint(allowed, lives.delegation),
      createInvocation: () => mint([talking], lives.invocation),
    },
    fileToken: async () => {
      if (!files || files.expiresAt - margin < Date.now()) {
        files = await mint([filesOf(did, "write")], lives.files);
      }
      return files.serialized;
    },
    grant: async (cids) => {
      const these: Capability = { can: "fs/read", with: namespace(did), nb: { cids } };
      return (await mint([...allowed, these], lives.delegation)).serialized;
    },
  };
}

/**
 * A wallet that needs nothing but a browser: its key is made when it is first asked
 * for, stays on this origin, and is one that script cannot read wherever the browser
 * can sign by itself (https or localhost).
 */
export async function createBrowserWallet(options: BrowserWalletOptions): Promise<BrowserWallet> {
  const vault = new Vault(
    browserKeyStore(options.database ?? "castalia-wallet"),
    globalThis.isSecureContext ? globalThis.crypto.subtle : undefined,
  );
  let kept = await vault.loadOrMake();
  const { did } = kept;
  const wallet = await createWallet(kept, options);
  return {
    ...wallet,
    get protection() {
      return kept.protection;
    },
    backup: () => vault.backup(did),
    lock: async () => {
      kept = await vault.lock(did);
    },
    forget: () => vault.forget(),
  };
}

async function serviceDid(server: string): Promise<string> {
  const reply = await naming()(`${server.replace(/\/+$/, "")}/.well-known/did.json`);
  if (!reply.ok) throw await errorFrom(reply);
  const { id } = (await reply.json()) as { id?: unknown };
  if (typeof id !== "string") throw new Error("The server does not say who it is");
  return id;
}
