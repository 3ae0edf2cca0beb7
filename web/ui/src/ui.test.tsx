// @vitest-environment jsdom
import type {
  IAttachment,
  IChatResult,
  IChatSession,
  ICitation,
  IMessage,
} from "@castalia/oracles-client";
import { RequestError, TurnError, useChat, useOracleSessions } from "@castalia/oracles-client";
import type { IApproval, IFormField } from "@castalia/oracles-client/approvals";
import type { UseAttachmentsResult } from "@castalia/oracles-client/attachments";
import { FakeOracle, FakeOraclesProvider } from "@castalia/oracles-client/testing";
import {
  act,
  cleanup,
  configure,
  fireEvent,
  render,
  screen,
  waitFor,
  within,
} from "@testing-library/react";
import axe from "axe-core";
import { version, type ReactNode } from "react";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import {
  Approvals,
  CallButton,
  Citation,
  Composer,
  english,
  LabelsProvider,
  Message,
  SessionList,
  Thread,
  ToolCard,
  type Labels,
  type ThreadProps,
} from ".";
import { messageOf } from "./labels";

configure({ asyncUtilTimeout: 15_000 });
beforeAll(() => {
  // The page of these tests has no sizes.
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(cleanup);

const done = () => Promise.resolve();

function chatOf(messages: IMessage[], more: Partial<IChatResult> = {}): ThreadProps["chat"] {
  return {
    messages,
    status: "ready",
    isSending: false,
    isLoading: false,
    isRetrying: false,
    canRetry: false,
    error: undefined,
    sendMessageError: undefined,
    refetchMessages: done,
    hasEarlier: true,
    isLoadingEarlier: false,
    loadEarlier: done,
    retry: done,
    regenerate: done,
    editMessage: done,
    chooseVersion: done,
    sendFeedback: done,
    ...more,
  };
}

const said: IMessage[] = [
  {
    id: "q",
    type: "human",
    content: "12",
    attachments: [{ filename: "3.pdf", mimetype: "application/pdf", size: 28 }],
    version: { number: 1, count: 2, kind: "original", messageIds: ["q", "r"] },
  },
  {
    id: "a",
    type: "ai",
    reasoning: "45",
    content: [
      "| 1 | 2 |\n|--:|---|\n| 3 | 4 |\n\n```\n6\n```\n\n- 7",
      { name: "8", props: { id: "c", args: { 9: 10 }, toolName: "8", isToolCall: true } },
    ],
  },
];

const approval: IApproval = {
  id: "p",
  runId: "r",
  sessionId: "s",
  toolCallId: "t",
  toolName: "1__2",
  args: { 3: true, 4: null },
  reason: "untrusted",
  createdAt: "",
  expiresAt: "",
  state: "waiting",
};

const question: IApproval = {
  ...approval,
  id: "q",
  reason: "input",
  question: {
    from: "12",
    message: "13",
    form: {
      type: "object",
      required: ["room"],
      properties: {
        room: { type: "string", title: "14", enum: ["15", "16"] },
        beds: { type: "integer", title: "17", minimum: 1, description: "18" },
        late: { type: "boolean", title: "19" },
        extras: { type: "array", title: "20", items: { anyOf: [{ const: "21", title: "22" }] } },
        when: { type: "string", format: "date", title: "23", default: "2026-11-17" },
      },
    },
  },
};

const attachments: UseAttachmentsResult = {
  list: [{ key: "k", filename: "5.png", mimetype: "image/png", size: 6, progress: 0.5 }],
  error: undefined,
  isStoring: false,
  upload: () => undefined,
  add: () => undefined,
  remove: () => undefined,
  take: () => Promise.resolve([]),
  giveBack: () => undefined,
};

const session = (id: string): IChatSession => ({
  sessionId: id,
  title: id,
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  createdAt: "2026-01-01T00:00:00Z",
  oracleName: "",
});

function listOf(sessions: IChatSession[]) {
  const nothing = { isLoading: false, isRetrying: false, error: undefined, refetch: done };
  return {
    ...nothing,
    isConfigReady: true,
    sessions,
    total: sessions.length,
    hasNextPage: true,
    isFetchingNextPage: false,
    fetchNextPage: done,
    createSession: () => Promise.reject(new Error("none")),
    isCreatingSession: false,
    isCreateSessionError: false,
    deleteSession: done,
    isDeletingSession: false,
    isDeleteSessionError: false,
  } satisfies ReturnType<typeof useOracleSessions>;
}

/** Every component at once. */
function All({ dir = "ltr" }: { dir?: "ltr" | "rtl" }) {
  const failed = { status: "error" as const, canRetry: true };
  const chat = chatOf(said, { ...failed, sendMessageError: new RequestError(413, "11") });
  const waiting = {
    approvals: [approval, question, { ...approval, id: "late", state: "expired" as const }],
    approve: done,
    deny: done,
  };
  const agent = { phase: "connected" as const, callAgent: done, endCall: done };
  return (
    <FakeOraclesProvider oracle={new FakeOracle()}>
      <main dir={dir} lang="en">
        <h1>12</h1>
        <SessionList
          list={listOf([session("13"), session("14")])}
          oracleDid="did:o"
          current="13"
          onNew={() => undefined}
          onOpen={() => undefined}
          onDelete={() => Promise.resolve(true)}
        />
        <CallButton href="/15" />
        <CallButton agent={agent} sessionId="s" />
        <Thread chat={chat}>
          <Approvals waiting={waiting} />
          <Citation title="16" text="17" passage="17 18" page={19} number={1} href="/20" />
          <ToolCard toolName="21" status="error" error="22" args={{ 23: 24 }} />
        </Thread>
        <Thread chat={chatOf([], { hasEarlier: false })} />
        <Thread chat={chatOf([], { isRetrying: true, error: new TypeError("Failed to fetch") })} />
        <Thread chat={chatOf([], { isLoading: true, status: "submitted", isSending: true })} />
        <Composer
          chat={{ isSending: false, sendMessage: done, abortStream: done }}
          attachments={attachments}
        />
        <Composer chat={{ isSending: true, sendMessage: done, abortStream: done }} />
      </main>
    </FakeOraclesProvider>
  );
}

test.each(["ltr", "rtl"] as const)("axe finds no fault in any of them, %s", async (dir) => {
  const { container } = render(<All dir={dir} />);
  const rules = { "color-contrast": { enabled: false } }; // Nothing has a colour here.
  const { violations } = await axe.run(container, { rules });
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`)).toEqual([]);
});

test("everything that they say can be said otherwise", () => {
  const mark = (said: unknown) => (typeof said === "function" ? () => "§" : "§");
  const marked = Object.fromEntries(Object.entries(english).map(([k, v]) => [k, mark(v)]));
  const { container } = render(
    <LabelsProvider labels={marked as unknown as Labels}>
      <All />
    </LabelsProvider>,
  );
  const attributes = [...container.querySelectorAll("*")].flatMap((e) =>
    ["aria-label", "title", "placeholder"].map((name) => e.getAttribute(name) ?? ""),
  );
  // What the tests say is numbers; file names have endings.
  const told = [container.textContent ?? "", ...attributes].join(" ").replace(/\.(pdf|png)/g, "");
  expect(told.match(/[A-Za-z]+/g)).toBeNull();
  expect(told).toContain("§");
});

function Page({ oracle, children }: { oracle: FakeOracle; children?: ReactNode }) {
  const options = { oracleDid: oracle.did, sessionId: "$s", onPaymentRequiredError: () => {} };
  const chat = useChat(options);
  return (
    <>
      <Thread chat={chat} />
      <Composer chat={chat} />
      {children}
    </>
  );
}

test("a page of two components talks, rates, edits and copies", async () => {
  const oracle = new FakeOracle();
  oracle.respond = (message) => `About *${message}*.`;
  render(
    <FakeOraclesProvider oracle={oracle}>
      <Page oracle={oracle} />
    </FakeOraclesProvider>,
  );
  await screen.findByText(english.nothingSaid);
  const field = screen.getByLabelText(english.entry);
  fireEvent.change(field, { target: { value: "rain" } });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => screen.getByText("rain", { selector: "em" }));
  expect((field as HTMLTextAreaElement).value).toBe("");
  fireEvent.click(await screen.findByLabelText(english.goodAnswer));
  await waitFor(() =>
    expect(screen.getByLabelText(english.goodAnswer).getAttribute("aria-pressed")).toBe("true"),
  );
  fireEvent.click(screen.getByLabelText(english.editQuestion));
  const question = screen.getByLabelText(english.question);
  expect(document.activeElement).toBe(question);
  fireEvent.change(question, { target: { value: "snow" } });
  fireEvent.keyDown(question, { key: "Enter" });
  expect(document.activeElement).toBe(field);
  await waitFor(() => screen.getByText("snow", { selector: "em" }));
  await screen.findByRole("group", { name: english.version(2, 2) });
});

test("a message that was not sent is given back, and Escape stops an answer", async () => {
  const stop = vi.fn(done);
  const chat = {
    isSending: false,
    sendMessage: () => Promise.reject(new Error()),
    abortStream: stop,
  };
  const { rerender } = render(<Composer chat={chat} />);
  const field = screen.getByLabelText<HTMLTextAreaElement>(english.entry);
  fireEvent.change(field, { target: { value: "rain" } });
  fireEvent.click(screen.getByLabelText(english.send));
  await waitFor(() => expect(field.value).toBe("rain"));
  fireEvent.keyDown(window, { key: "Escape" });
  expect(stop).not.toHaveBeenCalled();
  rerender(<Composer chat={{ ...chat, isSending: true }} />);
  fireEvent.keyDown(window, { key: "Escape" });
  expect(stop).toHaveBeenCalledOnce();
});

test("a message whose files could not be handed over is given back", async () => {
  const sendMessage = vi.fn(done);
  const refused = { ...attachments, take: () => Promise.reject(new Error("away")) };
  render(
    <Composer chat={{ isSending: false, sendMessage, abortStream: done }} attachments={refused} />,
  );
  const field = screen.getByLabelText<HTMLTextAreaElement>(english.entry);
  fireEvent.change(field, { target: { value: "rain" } });
  fireEvent.click(screen.getByLabelText(english.send));
  await waitFor(() => expect(field.value).toBe("rain"));
  expect(sendMessage).not.toHaveBeenCalled();
});

/** A page whose files are stored when its test says so. */
function storing(sendMessage: IChatResult["sendMessage"]) {
  const list = [{ key: "k", filename: "5.png", mimetype: "image/png", progress: 0.5 }];
  const page = (more: Partial<UseAttachmentsResult>, chat: Partial<IChatResult> = {}) => (
    <Composer
      chat={{ isSending: false, sendMessage, abortStream: done, ...chat }}
      attachments={{ ...attachments, list, isStoring: true, ...more }}
    />
  );
  const { rerender } = render(page({}));
  const taken = { filename: "5.png", mimetype: "image/png", cid: "c" };
  const stored = { list: [{ key: "k", ...taken }], isStoring: false, take: async () => [taken] };
  const field = screen.getByLabelText<HTMLTextAreaElement>(english.entry);
  fireEvent.change(field, { target: { value: "rain" } });
  return {
    field,
    taken,
    become: (...now: Parameters<typeof page>) => rerender(page(...now)),
    stored,
  };
}
/** Something that a test ends. */
function later<T>() {
  let end: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (end = resolve));
  return { promise, end };
}

const isLater = () => screen.queryByText(english.sendingLater) !== null;

test("what is sent while its files are on their way says so, and goes out behind them", async () => {
  const sendMessage = vi.fn(done);
  const { field, taken, become, stored } = storing(sendMessage);
  expect(isLater()).toBe(false);
  fireEvent.keyDown(field, { key: "Enter" });
  expect(isLater()).toBe(true);
  expect(screen.getByText(english.sendingLater).getAttribute("role")).toBe("status");
  expect(field).toMatchObject({ value: "rain", readOnly: true });
  fireEvent.keyDown(field, { key: "Enter" });
  expect(sendMessage).not.toHaveBeenCalled();
  become(stored);
  await waitFor(() => expect(sendMessage).toHaveBeenCalledWith("rain", undefined, [taken]));
  expect(sendMessage).toHaveBeenCalledOnce();
  expect(isLater()).toBe(false);
  expect(field).toMatchObject({ value: "", readOnly: false });
});

test("what waits for its files is kept back by its button, and by Escape", async () => {
  const sendMessage = vi.fn(done);
  const { field, become, stored } = storing(sendMessage);
  for (const keepBack of [
    () => fireEvent.click(screen.getByText(english.doNotSend)),
    () => fireEvent.keyDown(field, { key: "Escape" }),
  ]) {
    fireEvent.click(screen.getByLabelText(english.send));
    expect(isLater()).toBe(true);
    expect(document.activeElement).toBe(field);
    keepBack();
    expect(isLater()).toBe(false);
    expect(document.activeElement).toBe(field);
  }
  become(stored);
  expect(field).toMatchObject({ value: "rain", readOnly: false });
  expect(sendMessage).not.toHaveBeenCalled();
});

test("what waits for a file that cannot be stored is not sent without it", async () => {
  const sendMessage = vi.fn(done);
  const { field, become } = storing(sendMessage);
  fireEvent.keyDown(field, { key: "Enter" });
  become({ list: [], isStoring: false, error: new Error("5.png: full") });
  expect(screen.getByRole("alert").textContent).toBe("5.png: full");
  expect(isLater()).toBe(false);
  expect(field).toMatchObject({ value: "rain", readOnly: false });
  expect(sendMessage).not.toHaveBeenCalled();
});

/** A file that is stored, or half of it. */
const file = (key: string, progress?: number) => ({
  key,
  filename: `${key}.png`,
  mimetype: "image/png",
  progress,
});

test("what waits for its files is not sent without one that was taken away", () => {
  const sendMessage = vi.fn(done);
  const { field, become } = storing(sendMessage);
  fireEvent.keyDown(field, { key: "Enter" });
  become({ list: [], isStoring: false });
  expect(isLater()).toBe(false);
  expect(field).toMatchObject({ value: "rain", readOnly: false });
  expect(sendMessage).not.toHaveBeenCalled();
});

test("what waits for its files is not sent without one whose failure was forgotten since", () => {
  const sendMessage = vi.fn(done);
  const { field, become } = storing(sendMessage);
  become({ list: [file("a", 0.5)] });
  fireEvent.keyDown(field, { key: "Enter" });
  // What is attached meanwhile is waited for as well.
  become({ list: [file("a", 0.5), file("b", 0.5)] });
  become({ list: [file("a", 0.6)], error: new Error("b.png: full") });
  expect(isLater()).toBe(false);
  become({ list: [file("a", 0.7), file("c", 0.5)] });
  become({ list: [file("a"), file("c")], isStoring: false });
  expect(field.value).toBe("rain");
  expect(sendMessage).not.toHaveBeenCalled();
});

test("what waits for its files goes to its own conversation when that is left", async () => {
  const sendMessage = vi.fn(done);
  const another = vi.fn(done);
  const { field, taken, become, stored } = storing(sendMessage);
  const upload = later<IAttachment[]>();
  become({ take: () => upload.promise });
  fireEvent.keyDown(field, { key: "Enter" });
  become({ list: [], isStoring: false }, { sendMessage: another });
  expect(isLater()).toBe(false);
  expect(field).toMatchObject({ value: "", readOnly: false });
  // Whoever writes here is not held up.
  fireEvent.change(field, { target: { value: "snow" } });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(another).toHaveBeenCalledOnce());
  upload.end([taken]);
  await waitFor(() => expect(sendMessage).toHaveBeenCalledWith("rain", undefined, [taken]));
  become(stored);
  expect(sendMessage).toHaveBeenCalledOnce();
  expect(another).toHaveBeenCalledWith("snow", undefined, undefined);
});

test("what waits for its files goes out also when its page is gone", async () => {
  const sendMessage = vi.fn(done);
  const { field, taken, become } = storing(sendMessage);
  const take = vi.fn(async () => [taken]);
  become({ take });
  fireEvent.keyDown(field, { key: "Enter" });
  expect(take).not.toHaveBeenCalled();
  cleanup();
  expect(take).toHaveBeenCalledOnce();
  await waitFor(() => expect(sendMessage).toHaveBeenCalledWith("rain", undefined, [taken]));
  expect(sendMessage).toHaveBeenCalledOnce();
});

/** A page of several conversations, of which it shows one. */
function Pages({
  oracle,
  at,
  files,
}: {
  oracle: FakeOracle;
  at: string;
  files: typeof attachments;
}) {
  const chat = useChat({ oracleDid: oracle.did, sessionId: at, onPaymentRequiredError: () => {} });
  return <Composer key={at} chat={chat} attachments={files} />;
}

test("what could not be sent after its conversation was left is there when it is opened again", async () => {
  const oracle = new FakeOracle();
  const upload = later<undefined>();
  const files = {
    ...attachments,
    isStoring: true,
    take: async () => {
      await upload.promise;
      throw new Error("5.png: full");
    },
  };
  const page = (at: string) => (
    <FakeOraclesProvider oracle={oracle}>
      <Pages oracle={oracle} at={at} files={files} />
    </FakeOraclesProvider>
  );
  const { rerender } = render(page("$a"));
  const field = () => screen.getByLabelText<HTMLTextAreaElement>(english.entry);
  fireEvent.change(field(), { target: { value: "rain" } });
  fireEvent.keyDown(field(), { key: "Enter" });
  expect(isLater()).toBe(true);
  rerender(page("$b"));
  await act(async () => upload.end(undefined));
  expect(field().value).toBe("");
  expect(screen.queryByRole("alert")).toBeNull();
  rerender(page("$a"));
  expect(field().value).toBe("rain");
  expect(screen.getByRole("alert").textContent).toBe("5.png: full");
  // It is given back once.
  rerender(page("$b"));
  rerender(page("$a"));
  expect(field().value).toBe("");
});

test("one message goes out at a time while its files are handed over", async () => {
  const sendMessage = vi.fn(done);
  const { field, taken, become, stored } = storing(sendMessage);
  const asked = later<IAttachment[]>();
  const take = vi.fn(() => asked.promise);
  become({ ...stored, take });
  fireEvent.keyDown(field, { key: "Enter" });
  // The files may be shown until they are handed over.
  fireEvent.keyDown(field, { key: "Enter" });
  fireEvent.change(field, { target: { value: "snow" } });
  fireEvent.keyDown(field, { key: "Enter" });
  expect(take).toHaveBeenCalledOnce();
  expect(field.value).toBe("snow");
  await act(async () => asked.end([taken]));
  expect(sendMessage.mock.calls).toEqual([["rain", undefined, [taken]]]);
  become({ list: [], isStoring: false });
  fireEvent.keyDown(field, { key: "Enter" });
  await waitFor(() => expect(sendMessage).toHaveBeenCalledTimes(2));
});

test("Escape keeps back what waits, and stops no answer that is being written", () => {
  const abortStream = vi.fn(done);
  const { field, become } = storing(done);
  fireEvent.keyDown(field, { key: "Enter" });
  become({}, { isSending: true, abortStream });
  fireEvent.keyDown(field, { key: "Escape" });
  expect(isLater()).toBe(false);
  expect(abortStream).not.toHaveBeenCalled();
  fireEvent.keyDown(field, { key: "Escape" });
  expect(abortStream).toHaveBeenCalledOnce();
});

test("whoever is on the button of a wait is at the field when it ends by itself", async () => {
  const sendMessage = vi.fn(done);
  const { field, become, stored } = storing(sendMessage);
  fireEvent.keyDown(field, { key: "Enter" });
  screen.getByText(english.doNotSend).focus();
  become(stored);
  expect(document.activeElement).toBe(field);
  await waitFor(() => expect(sendMessage).toHaveBeenCalledOnce());
});

test("a message is given back when a page fails to send it", async () => {
  render(
    <Composer
      chat={{ isSending: false, sendMessage: done, abortStream: done }}
      onSend={() => Promise.reject(new Error("away"))}
    />,
  );
  const field = screen.getByLabelText<HTMLTextAreaElement>(english.entry);
  fireEvent.change(field, { target: { value: "rain" } });
  fireEvent.click(screen.getByLabelText(english.send));
  await waitFor(() => expect(field.value).toBe("rain"));
});

test("an answer that failed can be asked for again, and is neither copied nor rated", () => {
  const parts = [{ type: "error" as const, text: "Please try again." }];
  const content = { name: "Error", props: { id: "e", args: {}, error: "Please try again." } };
  const acts = { regenerate: vi.fn(), edit: done, choose: done, rate: done };
  render(<Message message={{ id: "m", type: "ai", content, parts }} acts={acts} />);
  fireEvent.click(screen.getByLabelText(english.askAgain));
  expect(acts.regenerate).toHaveBeenCalledWith("m");
  expect(screen.queryByLabelText(english.copyAnswer)).toBeNull();
  expect(screen.queryByLabelText(english.goodAnswer)).toBeNull();
});

const failure = (id: string): IMessage => ({
  id,
  type: "ai",
  content: { name: "Error", props: { id, args: {}, error: "The model is busy.", event: "error" } },
  parts: [{ type: "error", text: "The model is busy." }],
});

test("a failure is read out when it happens, and not when a conversation is opened", () => {
  const error = new TurnError({ error: "The model is busy.", retryable: true });
  const failed = { status: "error" as const, error };
  const { rerender } = render(
    <Thread chat={chatOf([failure("a"), failure("b")], { ...failed, canRetry: true })} />,
  );
  expect(screen.getAllByText("The model is busy.")).toHaveLength(2);
  expect(screen.queryByRole("alert")).toBeNull();
  rerender(<Thread chat={chatOf([failure("a")], { status: "streaming", isSending: true })} />);
  expect(screen.queryByRole("alert")).toBeNull();
  rerender(<Thread chat={chatOf([failure("a"), failure("c")], failed)} />);
  expect(screen.getByRole("alert").textContent).toBe("The model is busy.");
  rerender(<Thread chat={chatOf([failure("a")], { status: "submitted", isSending: true })} />);
  expect(screen.queryByRole("alert")).toBeNull();
});

test("what cannot help is not offered, and what to do instead is said", () => {
  const refused = (error: Error, canRetry: boolean) =>
    chatOf(said, { status: "error", sendMessageError: error, canRetry });
  const { rerender } = render(<Thread chat={refused(new RequestError(503, "Busy."), true)} />);
  expect(screen.getByRole("alert").textContent).toBe("Busy.");
  expect(screen.getByText(english.tryAgain)).toBeTruthy();
  for (const [status, instead] of [
    [400, english.sayOtherwise],
    [401, ""],
    [403, english.notAllowed],
    [404, ""],
    [413, english.tooLarge],
  ] as const) {
    rerender(<Thread chat={refused(new RequestError(status, "No."), false)} />);
    expect(screen.getByRole("alert").textContent).toBe(`No. ${instead}`.trim());
    expect(screen.queryByText(english.tryAgain)).toBeNull();
  }
  for (const [status, isLoading, instead] of [
    [400, false, ""],
    [401, false, ""],
    [403, false, english.notAllowed],
    [404, false, english.notThere],
    [410, false, english.notThere],
    [404, true, ""], // it is the oracle that was not found
    [413, false, ""],
  ] as const) {
    const error = new RequestError(status, "No.");
    rerender(<Thread chat={chatOf(said, { error, isLoading })} />);
    // That a conversation is gone is said once.
    const told = instead === english.notThere ? instead : `No. ${instead}`.trim();
    expect(screen.getByRole("alert").textContent).toBe(told);
  }
});

test("a page whose first read failed says that it tries again, and does so at once for who asks", () => {
  const refetchMessages = vi.fn(done);
  const away = { isRetrying: true, error: new TypeError("Failed to fetch"), refetchMessages };
  const page = (more: Partial<IChatResult>) => (
    <>
      <Thread chat={chatOf([], { hasEarlier: false, ...more })} />
      <Composer chat={{ isSending: false, sendMessage: done, abortStream: done }} />
    </>
  );
  const { rerender } = render(page({ isLoading: true }));
  rerender(page(away));
  const told = `${english.unreachable} ${english.retrying}`;
  expect(screen.getByText(told).getAttribute("role")).toBe("status");
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.queryByText(english.nothingSaid)).toBeNull();
  const now = screen.getByText(english.retryNow);
  now.focus();
  fireEvent.click(now);
  expect(refetchMessages).toHaveBeenCalledOnce();
  rerender(page({}));
  expect(screen.queryByText(told)).toBeNull();
  expect(screen.queryByText(english.retryNow)).toBeNull();
  expect(document.activeElement).toBe(screen.getByLabelText(english.entry));
});

test("conversations that could not be read are said to be tried again, and not to be none", async () => {
  const refetch = vi.fn(done);
  const list = { ...listOf([]), hasNextPage: false, refetch };
  const page = (more: Partial<typeof list>, onNew: () => Promise<void> = done) => (
    <FakeOraclesProvider oracle={new FakeOracle()}>
      <SessionList
        list={{ ...list, ...more } as typeof list}
        oracleDid="did:o"
        onNew={onNew}
        onOpen={() => undefined}
      />
    </FakeOraclesProvider>
  );
  const error = new TypeError("Failed to fetch") as unknown as undefined;
  const { rerender } = render(page({ error, isRetrying: true }));
  expect(screen.getByText(`${english.unreachable} ${english.retrying}`)).toBeTruthy();
  expect(screen.queryByText(english.none)).toBeNull();
  fireEvent.click(screen.getByText(english.retryNow));
  expect(refetch).toHaveBeenCalledOnce();
  rerender(page({}, () => Promise.reject(new Error("No more today."))));
  expect(screen.getByText(english.none)).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: english.newConversation }));
  expect((await screen.findByRole("alert")).textContent).toBe("No more today.");
});

test("they are drawn by the React that is tested", () => {
  expect(version.split(".")[0]).toBe(process.env["REACT_MAJOR"]);
});

test("an answer has the passages below it that it points to", () => {
  const citation: ICitation = {
    number: 1,
    passage: "c/d/0",
    collection: "c",
    collectionName: "Village",
    document: "d",
    title: "Water",
    page: 2,
    text: "It is wet.",
  };
  const parts = [
    { type: "text" as const, text: "Wet [1]." },
    { type: "citation" as const, citation },
  ];
  const message = { id: "m", type: "ai" as const, content: "Wet [1].", parts };
  const { rerender } = render(<Message message={message} />);
  const folded = screen.getByRole("group"); // details
  expect(folded).toHaveProperty("open", false);
  expect(folded.textContent).toContain("It is wet.[1] Water · page 2 · Village");
  expect(within(folded).queryByText(english.wholePassage)).toBeNull();
  rerender(<Message message={{ ...message, parts: parts.slice(0, 1) }} />);
  expect(screen.queryByText(english.sources)).toBeNull();
});

test("a source is opened at an address, and at nothing else", () => {
  for (const href of ["javascript:alert(1)", "//elsewhere.test", "/\\elsewhere.test", "data:,x"]) {
    render(<Citation title="Water" text="It is wet." href={href} />);
    expect(screen.queryByRole("link")).toBeNull();
    cleanup();
  }
  render(<Citation title="Water" text="It is wet." href="/files/water" />);
  expect(screen.getByRole("link").getAttribute("href")).toBe("/files/water");
});

test("a tool is told what it asked for, in its own types", () => {
  const approve = vi.fn(done);
  const deny = vi.fn(done);
  render(<Approvals waiting={{ approvals: [question], approve, deny }} />);
  const form = screen.getByRole("form", { name: english.asksYou("12", "2") });
  fireEvent.change(screen.getByLabelText("14"), { target: { value: "16" } });
  fireEvent.change(screen.getByLabelText(/^17/), { target: { value: "3" } });
  fireEvent.click(screen.getByLabelText("22"));
  fireEvent.submit(form);
  expect(approve).toHaveBeenCalledWith("q", {
    room: "16",
    beds: 3,
    late: false,
    extras: ["21"],
    when: "2026-11-17",
  });
  fireEvent.click(screen.getByText(english.giveNone));
  expect(deny).toHaveBeenCalledWith("q");
});

test("a question shows its moments, and leaves out the lists that nobody chose from", () => {
  const approve = vi.fn(done);
  const moment = "2026-11-17T09:30:15.000Z";
  const items = { enum: ["1", "2"] };
  const asked: IApproval = {
    ...question,
    question: {
      message: "13",
      form: {
        type: "object",
        required: ["must"],
        properties: {
          at: { type: "string", format: "date-time", title: "14", default: moment },
          none: { type: "array", title: "15", items },
          some: { type: "array", title: "16", items, minItems: 1 },
          must: { type: "array", title: "17", items, minItems: 1 },
        },
      },
    },
  };
  render(<Approvals waiting={{ approvals: [asked], approve, deny: done }} />);
  const field = screen.getByLabelText<HTMLInputElement>(/^14/);
  expect(new Date(field.value).toISOString()).toBe(moment);
  fireEvent.submit(screen.getByRole("form"));
  expect(approve).toHaveBeenCalledWith("q", { at: moment, none: [], must: [] });
});

test("a question that cannot be drawn leaves the others there", () => {
  vi.spyOn(Date.prototype, "getTimezoneOffset").mockReturnValue(-540);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const asked = (id: string, properties: object): IApproval => ({
    ...question,
    id,
    question: {
      message: id,
      form: { type: "object", properties: properties as Record<string, IFormField> },
    },
  });
  const last = { type: "number", format: "date-time", default: 8.64e15, title: "last" };
  const approvals = [asked("31", { last }), asked("32", { odd: null }), asked("33", {})];
  render(<Approvals waiting={{ approvals, approve: done, deny: done }} />);
  expect(screen.getByText("31")).toBeTruthy();
  expect(screen.queryByText("32")).toBeNull();
  expect(screen.getByText("33")).toBeTruthy();
  vi.restoreAllMocks();
});

test("who answers the only question writes on below", async () => {
  const approve = vi.fn(done);
  render(
    <>
      <Approvals waiting={{ approvals: [approval], approve, deny: done }} />
      <Composer chat={{ isSending: false, sendMessage: done, abortStream: done }} />
    </>,
  );
  expect(screen.getByRole("group", { name: english.mayUse("2") }).textContent).toContain("1");
  fireEvent.click(screen.getByText(english.allow));
  expect(approve).toHaveBeenCalledWith("p");
  expect(document.activeElement).toBe(screen.getByLabelText(english.entry));
});

test("why the oracle refused something is said as the page says it, by what the oracle calls it", () => {
  const cause = new RequestError(429, "Enough for today.", { code: "messages_per_day" });
  expect(messageOf(cause, english)).toBe("Enough for today.");
  const refused = ({ status, code }: { status: number; code: string | undefined }) =>
    `${status} ${code}`;
  expect(messageOf(cause, { ...english, refused })).toBe("429 messages_per_day");
  expect(messageOf(new Error("Enough."), { ...english, refused })).toBe("Enough.");
});
