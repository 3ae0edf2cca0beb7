import { Chat, type ChatHost } from "./chat";
import type { ChatAddress, ChatPage, OraclesClient, Shared } from "./client";
import { randomId } from "./random";
import { OracleSocket, type SocketHost } from "./socket";
import { declareActions, declareTools, runAction, runTool, type BrowserTools } from "./tools";

/** A conversation and its live channel, for all pages that show it. */
export function makeShared(client: OraclesClient, at: ChatAddress): Shared {
  const api = client.api(at.baseUrl, at.oracleDid);
  const last = <T>(read: (page: ChatPage) => T | undefined): T | undefined =>
    shared.pages.map(read).findLast((value) => value !== undefined);
  const tools = (): BrowserTools =>
    Object.assign({}, ...shared.pages.map((page) => page.browserTools()));
  const tabId = randomId();
  const host: ChatHost = {
    tabId,
    multitask: () => last((page) => page.multitask?.()),
    streamingMode: () => last((page) => page.streamingMode()) ?? "batched",
    model: () => last((page) => page.model()),
    tools: () => declareTools(tools()),
    actions: () => declareActions(client.actions.get().values()),
    // Hooks of other entries are pages too, and some of them do not care.
    paymentRequired: (claims) =>
      shared.pages.findLast((page) => page.paymentRequired)?.paymentRequired?.(claims),
  };
  const chat = new Chat(api, at.sessionId, host, at.pageSize);
  let greeted = false;
  const page: SocketHost = {
    call: (kind, name, args) =>
      kind === "tool"
        ? runTool(tools(), name, args)
        : runAction(client.actions.get().get(name), name, args),
    event: (event) => {
      // A line that is back may have missed events while it was away.
      const missed = event.eventName === "connected" && greeted;
      greeted ||= event.eventName === "connected";
      if (shared.read && missed) void chat.changed();
      else if (shared.read && event.eventName === "connected") chat.connected();
      if (shared.read) chat.takeEvent(event);
      for (const page of shared.pages) page.event(event);
    },
  };
  const socket = new OracleSocket(
    at.wsUrl,
    at.oracleDid,
    at.sessionId,
    client.credentials,
    page,
    tabId,
    client.network.connect,
  );
  const shared: Shared = { chat, socket, pages: [], read: false, closing: undefined };
  return shared;
}
