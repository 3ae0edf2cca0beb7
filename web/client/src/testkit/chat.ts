import { vi } from "vitest";
import { Chat, type ChatHost } from "../core/chat";
import type { IMessage, StoredMessage } from "../core/types";
import { until, type FakeOracle } from "./oracle";

export const human = (id: string, content: string): StoredMessage => ({
  id,
  type: "human",
  content,
});
export const ai = (id: string, content: string): StoredMessage => ({ id, type: "ai", content });

/** A chat on a fake oracle, with every status that it went through. */
export function chatWith(oracle: FakeOracle, host: Partial<ChatHost> = {}) {
  const paid: string[][] = [];
  const chat = new Chat(oracle.api(), "$s", {
    streamingMode: () => "batched",
    model: () => undefined,
    multitask: () => undefined,
    tabId: "tab-1",
    tools: () => [],
    actions: () => [],
    paymentRequired: (claims) => void paid.push(claims),
    ...host,
  });
  const states: string[] = [];
  chat.state.subscribe(() => {
    const { status } = chat.state.get();
    if (states.at(-1) !== status) states.push(status);
  });
  return { chat, states, paid, get: () => chat.state.get() };
}

export const texts = (messages: IMessage[]) => messages.map((m) => m.content);
export const flush = () => vi.advanceTimersByTimeAsync(100);

/** Opens a chat and sends a first message; its stream is open when it returns. */
export async function talking(oracle: FakeOracle, host: Partial<ChatHost> = {}) {
  oracle.streaming("run-1");
  const made = chatWith(oracle, host);
  await made.chat.open();
  const sent = made.chat.send("hi");
  await until(() => made.get().status === "streaming");
  return { ...made, sent, stream: oracle.stream() };
}
