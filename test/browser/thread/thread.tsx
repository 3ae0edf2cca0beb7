// A page of the components as somebody else would write it, with a conversation of ten thousand messages.
import { createRoot } from "react-dom/client";
import { useChat, useOracleSessions } from "@castalia/oracles-client";
import { useApprovals } from "@castalia/oracles-client/approvals";
import { FakeOracle, FakeOraclesProvider, type FakeStream } from "@castalia/oracles-client/testing";
import { Approvals, CallButton, Citation, Composer, SessionList, Thread } from "@castalia/oracles-ui";
import "@castalia/oracles-ui/styles.css";

declare global {
  interface Window {
    /** Has the oracle write an answer of so many words, and returns the longest task meanwhile, in ms. */
    write(words: number): Promise<number>;
  }
}

const asked = new URLSearchParams(location.search);
const count = Number(asked.get("messages") ?? 10_000);
const isArabic = asked.get("dir") === "rtl";
document.documentElement.dir = isArabic ? "rtl" : "ltr";
document.documentElement.dataset["castaliaTheme"] = asked.get("theme") ?? "light";

const oracle = new FakeOracle();
const words = isArabic ? "ماء النبع صاف وبارد في الصباح. " : "The water of the spring is clear. ";
const table = "\n\n| Day | Litres |\n|---|--:|\n| Mon | 420 |\n\n- one\n- two\n\n```\ncastalia serve\n```\n";
oracle.history.set(
  "$s",
  Array.from({ length: count }, (_, i) => ({
    id: `m${i}`,
    type: i % 2 ? ("ai" as const) : ("human" as const),
    content: `Message ${i}: ${words.repeat(1 + ((i * 7) % 9))}${i % 10 === 9 ? table : ""}`,
    isComplete: true,
    ...(i % 10 === 7 ? { toolCalls: [{ id: `c${i}`, name: "look_up", args: { q: "spring" }, status: "done" as const, output: "found" }] } : {}),
  })),
);
if (asked.has("failed")) {
  const error = { message: "The model had a problem.", kind: "model", retryable: true };
  oracle.history.get("$s")?.push({ id: "failed", type: "ai", content: "", isComplete: true, error });
}
const day = new Date().toISOString();
const later = new Date(Date.now() + 3_600_000).toISOString();
oracle.sessions = ["$s", "$t"].map((sessionId, i) => ({
  sessionId,
  title: isArabic ? "عن النبع" : `About the spring ${i + 1}`,
  createdAt: day,
  lastUpdatedAt: day,
  oracleName: "",
}));
oracle.on("GET", /^\/approvals/, () =>
  Response.json({
    approvals: asked.has("approval")
      ? [{ id: "p", runId: "r", sessionId: "$s", toolCallId: "t", toolName: "post__send_letter", args: { to: "Amina" }, reason: "confirm", createdAt: day, expiresAt: later }]
      : [],
  }),
);

function Page() {
  const common = { oracleDid: oracle.did, sessionId: "$s" };
  const chat = useChat({ ...common, historyPageSize: count, onPaymentRequiredError: () => undefined });
  const list = useOracleSessions(oracle.did);
  const waiting = useApprovals(common);
  return (
    <main>
      <h1>{chat.messages.length} messages</h1>
      <SessionList list={list} oracleDid={oracle.did} current="$s" onNew={() => undefined} onOpen={() => undefined} onDelete={() => Promise.resolve(false)} />
      <section>
        <CallButton href="#call" />
        <Thread chat={chat}>
          <Approvals waiting={waiting} />
          {asked.has("approval") && <Citation number={1} title="Springs of Delphi" page={3} text={words} href="#delphi" />}
        </Thread>
        <Composer chat={chat} />
      </section>
    </main>
  );
}

const pause = () => new Promise((done) => setTimeout(done, 5));

async function answer(stream: FakeStream, words: number) {
  for (let n = 1; n <= words; n++) {
    stream.frame(n, "message", { content: n % 20 ? `word${n} ` : `**word${n}**\n\n` });
    await pause();
  }
  stream.frame(words + 1, "done", { status: "finished" }).end();
}

window.write = async (words) => {
  let longest = 0;
  const watch = new PerformanceObserver((tasks) => {
    for (const task of tasks.getEntries()) longest = Math.max(longest, task.duration);
  });
  const opened = oracle.stream();
  const field = document.querySelector<HTMLTextAreaElement>("[data-castalia-entry]");
  if (!field) throw new Error("there is nowhere to write");
  Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")?.set?.call(field, "go");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await pause();
  watch.observe({ type: "longtask" });
  field.form?.requestSubmit();
  await answer(await opened, words);
  await new Promise((done) => setTimeout(done, 300));
  watch.disconnect();
  return longest;
};

createRoot(document.getElementById("root") as HTMLElement).render(
  <FakeOraclesProvider oracle={oracle}>
    <Page />
    <style>{`
      main { display: grid; grid-template: auto minmax(0, 1fr) / 16rem minmax(0, 1fr); height: 100vh;
        font: 16px/1.5 system-ui; background: var(--castalia-paper); color: var(--castalia-ink) }
      h1 { grid-column: 1 / -1; margin: 0; padding: .5rem 1rem; font-size: 1rem }
      section { display: grid; grid-template: auto minmax(0, 1fr) auto / minmax(0, 1fr); min-height: 0 }
      section > form { margin: .5rem 1rem }
      @media (max-width: 760px) { main { grid-template-columns: minmax(0, 1fr) } main > aside { display: none } }
    `}</style>
  </FakeOraclesProvider>,
);
