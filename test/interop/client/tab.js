// The published client in a tab of a real browser; the test mints and asks.
import { OraclesProvider, useChat } from "@ixo/oracles-client-sdk";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";

const { url, did, entity, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
globalThis.CHAIN_URL = url;

const mint = (verb) => async () => ({ serialized: await globalThis.mint(verb), expiresAt: Date.now() + 14 * 60_000 });
const host = {
  initialWallet: { address: "ixo1me", did, matrix: { accessToken: "", homeServer: "" } },
  transactSignX: async () => {},
  createDelegation: mint("delegate"),
  createInvocation: mint("invoke"),
};

const textOf = (content) => (Array.isArray(content) ? content : [content]).filter((part) => typeof part === "string").join("");

function Chat() {
  const chat = useChat({ oracleDid: entity, sessionId: session, onPaymentRequiredError() {} });
  globalThis.chat = chat;
  const messages = chat.messages.map((m) => h("article", { key: m.id, className: m.type }, textOf(m.content)));
  return h("main", { "data-status": chat.status, "data-live": chat.isRealTimeConnected }, messages);
}

createRoot(document.getElementById("root")).render(h(OraclesProvider, host, h(Chat)));
