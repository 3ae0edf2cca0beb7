// The published client on a page, as a host application uses it.
import "./browser.js";
import { OraclesProvider, useAgAction, useChat, useOraclesConfig, useOracleSessions, useModels } from "@ixo/oracles-client-sdk";
import { createElement as h } from "react";
import { createRoot } from "react-dom/client";
import { castalia, eventually } from "../world.mjs";

/** Somebody with a key on a page of the oracle at world. */
export class Page {
  constructor(world, entity) {
    Object.assign(this, { world, entity, now: {}, statuses: [], paid: [] });
    globalThis.CHAIN_URL = world.url;
  }

  #mint(verb) {
    return async () => {
      const serialized = await castalia(["ucan", verb, "--key", this.world.key, "--audience", this.world.service, "--can", "*", "--with", "ixo:oracle", "--ttl", "14m"]);
      return { serialized, expiresAt: Date.now() + 14 * 60_000 };
    };
  }

  /** A token for requests beside the client's own. */
  delegation = async () => (await this.#mint("delegate")()).serialized;

  /** Shows children inside the provider. */
  #show(child) {
    localStorage.clear();
    this.root ??= createRoot(document.getElementById("root"));
    const props = {
      initialWallet: { address: "ixo1me", did: this.world.did, matrix: { accessToken: "", homeServer: "" } },
      transactSignX: async () => {},
      createDelegation: this.#mint("delegate"),
      createInvocation: this.#mint("invoke"),
    };
    this.root.render(h(OraclesProvider, props, child));
  }

  /** A list of sessions. */
  sessions() {
    return this.#show(
      h(() => {
        Object.assign(this.now, useOracleSessions(this.entity), { oracle: useOraclesConfig(this.entity), models: useModels(this.entity) });
        return null;
      }),
    );
  }

  /** A chat. action is a useAgAction option; options are useChat's. */
  chat(sessionId, { action, ...options } = {}) {
    const Action = () => (useAgAction(action), null);
    const Chat = () => {
      const chat = useChat({ oracleDid: this.entity, sessionId, onPaymentRequiredError: (claims) => this.paid.push(claims), ...options });
      if (this.statuses.at(-1) !== chat.status) this.statuses.push(chat.status);
      Object.assign(this.now, chat);
      return null;
    };
    return this.#show(h("div", {}, h(Chat), action && h(Action)));
  }

  /** Waits for something that the page shows. */
  until(what, check) {
    return eventually(
      () => `${what}; the page has ${JSON.stringify({ ...this.now, models: undefined }, null, 1)?.slice(0, 4000)}`,
      async () => check(this.now),
    );
  }

  /** Sends a message and waits until the turn is over and stored. */
  async say(text) {
    await this.now.sendMessage(text);
    await this.until(`"${text}" is answered`, ({ status, isSending }) => status === "ready" && !isSending);
  }

  close() {
    this.root?.unmount();
    this.root = undefined;
    this.now = {};
  }
}

/** The texts of the messages of one side. */
export const texts = (messages, type) =>
  messages.filter((m) => m.type === type).flatMap((m) => (Array.isArray(m.content) ? m.content : [m.content])).filter((part) => typeof part === "string");
