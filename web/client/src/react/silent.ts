import type { ChatPage } from "../core/client";

/** A page of a conversation that shows nothing of it: for what only uses its line. */
export const silentPage = (): ChatPage => ({
  streamingMode: () => undefined,
  model: () => undefined,
  browserTools: () => undefined,
  event: () => undefined,
});
