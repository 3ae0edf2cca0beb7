/**
 * A signer in the box: a key in the browser, or one that you have, and the tokens
 * that it signs. Decision: ADR 0240.
 *
 * @packageDocumentation
 */
export {
  exportKey,
  fromPrivateText,
  keyFromSeed,
  newKey,
  parseKey,
  privateText,
  type Key,
  type Signer,
} from "./key";
export { filesOf, mintToken, namespace, talking } from "./rights";
export { browserKeyStore } from "./store";
export { inSeconds, issue, readToken, type Capability, type Statement, type Token } from "./ucan";
export { Vault, type KeptKey, type KeyStore, type Protection } from "./vault";
export {
  createBrowserWallet,
  createWallet,
  type BrowserWallet,
  type BrowserWalletOptions,
  type Wallet,
  type WalletOptions,
} from "./wallet";
export type { MintedToken } from "../core/credentials";
