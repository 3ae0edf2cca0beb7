// A page with 200 finished messages and one that grows, and what it costs.
import { memo, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { flushSync } from "react-dom";
import { renderMessageContent, useChat, type IMessage } from "@castalia/oracles-client";
import { FakeOracle, FakeOraclesProvider, type FakeStream } from "@castalia/oracles-client/testing";

export interface Figures {
  growing: number;
  finished: number;
  requests: number;
  longestFrame: number;
  took: number;
}

declare global {
  interface Window {
    run(mode: "batched" | "immediate", tokens: number, perSecond: number): Promise<Figures>;
  }
}

let renders = new Map<string, number>();

const Message = memo(({ message }: { message: IMessage }) => {
  renders.set(message.id, (renders.get(message.id) ?? 0) + 1);
  return <p>{renderMessageContent(message.content)}</p>;
});

type Send = (text: string) => Promise<void>;

function Page({ oracle, mode, ready }: { oracle: FakeOracle; mode: "batched" | "immediate"; ready: (send: Send) => void }) {
  const chat = useChat({ oracleDid: oracle.did, sessionId: "$s", streamingMode: mode, onPaymentRequiredError: () => undefined });
  const isReady = chat.messages.length >= 200 && chat.isRealTimeConnected;
  useEffect(() => {
    if (isReady) ready((text) => chat.sendMessage(text));
  }, [isReady]);
  return chat.messages.map((message) => <Message key={message.id} message={message} />);
}

const nextTask = () =>
  new Promise<void>((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done();
    port2.postMessage(0);
  });

async function write(oracle: FakeOracle, stream: FakeStream, tokens: number, perSecond: number) {
  const start = performance.now();
  for (let n = 1; n <= tokens; n++) {
    stream.frame(n, "message", { content: `token${n} ` });
    if (perSecond === Infinity) continue;
    while (performance.now() - start < (n * 1000) / perSecond) await new Promise((done) => setTimeout(done, 1));
  }
  const text = Array.from({ length: tokens }, (_, i) => `token${i + 1} `).join("");
  const turn = [
    { id: "asked", type: "human", content: "go", isComplete: true },
    { id: "said", type: "ai", content: text, isComplete: true },
  ] as const;
  oracle.history.set("$s", [...(oracle.history.get("$s") ?? []), ...turn]);
  stream.frame(tokens + 1, "done", { status: "finished" }).end();
}

/** Watches the time between frames until it is told to stop. */
function watchFrames() {
  let longest = 0;
  let last = performance.now();
  let handle = requestAnimationFrame(function look(now) {
    longest = Math.max(longest, now - last);
    last = now;
    handle = requestAnimationFrame(look);
  });
  return () => {
    cancelAnimationFrame(handle);
    return Math.max(longest, performance.now() - last);
  };
}

window.run = async (mode, tokens, perSecond) => {
  const oracle = new FakeOracle();
  oracle.history.set(
    "$s",
    Array.from({ length: 200 }, (_, i) => ({ id: `m${i}`, type: i % 2 ? "ai" : "human", content: `Message ${i}. `.repeat(8), isComplete: true }) as const),
  );
  const root = createRoot(document.getElementById("root") as HTMLElement);
  const send = await new Promise<Send>((ready) => {
    flushSync(() =>
      root.render(
        <FakeOraclesProvider oracle={oracle}>
          <Page oracle={oracle} mode={mode} ready={ready} />
        </FakeOraclesProvider>,
      ),
    );
  });
  await new Promise((done) => setTimeout(done, 300));
  renders = new Map();
  const before = oracle.seen.length;
  const opened = oracle.stream();
  const stop = watchFrames();
  const sent = send("go");
  const stream = await opened;
  await nextTask();
  const start = performance.now();
  await write(oracle, stream, tokens, perSecond);
  await sent;
  const text = `token${tokens}`;
  while (!document.body.textContent?.includes(text)) await nextTask();
  const took = performance.now() - start;
  const longestFrame = stop();
  const counts = [...renders].filter(([id]) => !/^m\d+$/.test(id)).map(([, n]) => n);
  const figures = {
    growing: Math.max(...counts),
    finished: [...renders].filter(([id]) => /^m\d+$/.test(id)).reduce((sum, [, n]) => sum + n, 0),
    requests: oracle.seen.length - before,
    longestFrame,
    took,
  };
  root.unmount();
  return figures;
};
