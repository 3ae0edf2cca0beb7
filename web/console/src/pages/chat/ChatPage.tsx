import { useOracleSessions } from "@castalia/oracles-client";
import { SessionList, titleOf } from "@castalia/oracles-ui";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useSession } from "../../identity/session";
import { useFeatures } from "../../shell/features";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { go, href } from "../../shell/router";
import { labelsNow, loadWords, say } from "../../words";
// What a narrow window changes is in the last.
import "./sessions.css";
import "./cards.css";
import "./chat.css";
import { here } from "./here";
import { Opening } from "./Opening";
import { useSuggestions } from "./suggestions";

// What is said in a conversation comes with it, not with the first page.
const loadConversation = async () =>
  (await Promise.all([import("./Conversation"), loadWords("conversation")]))[0];
const Conversation = lazy(loadConversation);
const Confirm = lazy(() => import("../../shell/Confirm"));

const addressOf = (sessionId: string) => `chat/${encodeURIComponent(sessionId)}`;

/** Conversations with the oracle. */
export default function ChatPage({ sessionId }: { sessionId: string }) {
  const session = useSession();
  const { serviceDid } = session;
  const { name } = useFeatures();
  const list = useOracleSessions(serviceDid, { baseUrl: here.baseUrl, limit: 50 });
  const { createSession, isConfigReady, refetch } = list;
  const [error, setError] = useState("");
  // What a suggestion says is the first message of the conversation that it starts.
  const [opening, setOpening] = useState<{ sessionId: string; text: string }>();
  const starting = useRef(false);
  const { suggestions, sample } = useSuggestions(session);
  const [arrived] = useState(sessionId);
  const [isMoved, setMoved] = useState(false);
  if (!isMoved && sessionId !== arrived) setMoved(true);
  // It comes while the first page is read, and is there when it is wanted.
  useEffect(() => void loadConversation().catch(() => undefined), []);

  /** Begins a conversation, and tells whether there is one, or why not. */
  async function begin(text = ""): Promise<boolean> {
    if (starting.current) return false;
    starting.current = true;
    try {
      const begun = await createSession();
      if (text) setOpening({ sessionId: begun.sessionId, text });
      go(addressOf(begun.sessionId));
      setError("");
      return true;
    } catch (cause) {
      throw new Error(messageOf(cause), { cause });
    } finally {
      starting.current = false;
    }
  }
  /** Begins one from the welcome, which says why not. */
  const start = (text = "") =>
    begin(text).catch((cause: Error) => {
      setError(cause.message);
      return false;
    });
  const startNow = useRef(start);
  useEffect(() => {
    startNow.current = start;
  });
  // A question to the user, and who waits for the answer.
  const [doomed, setDoomed] = useState<{ title: string; answer: (isMeant: boolean) => void }>();
  async function remove(session: { sessionId: string }, title: string): Promise<boolean> {
    const isMeant = await new Promise<boolean>((answer) => setDoomed({ title, answer }));
    if (!isMeant) return false;
    await list.deleteSession(session.sessionId);
    if (session.sessionId === sessionId) go("chat");
    return true;
  }
  const isNew = sessionId === "new";
  const known = list.sessions.find((s) => s.sessionId === sessionId);
  // The title of an old conversation is further down in the list.
  const [isLost, setLost] = useState(false);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const reads = sessionId !== "" && !isNew && !known && hasNextPage && !isFetchingNextPage;
  useEffect(() => {
    if (reads && !isLost) fetchNextPage().catch(() => setLost(true));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what it calls is new with every render
  }, [reads, isLost, list.sessions.length]);
  useEffect(() => {
    if (isNew && isConfigReady) void startNow.current();
  }, [isNew, isConfigReady]);

  const classes = ["chat"];
  if (sessionId) classes.push("with-session");
  if (list.sessions.length > 0) classes.push("with-history");
  return (
    <div className={classes.join(" ")}>
      <SessionList
        list={list}
        oracleDid={serviceDid}
        overrides={here}
        current={sessionId}
        onNew={async () => void (await begin())}
        onOpen={(id) => go(addressOf(id))}
        hrefOf={(id) => href(addressOf(id))}
        onDelete={remove}
      />
      {doomed && (
        <Suspense>
          <Confirm
            title={say("chat.deleteAsk")}
            action={labelsNow().remove}
            onConfirm={() => doomed.answer(true)}
            onClose={() => {
              setDoomed(undefined);
              // What is meant is said after the dialog is closed.
              queueMicrotask(() => doomed.answer(false));
            }}
          >
            {say("chat.deleteHint", { title: doomed.title })}
          </Confirm>
        </Suspense>
      )}
      {sessionId && !isNew ? (
        <Suspense fallback={<section className="conversation" aria-busy="true" />}>
          <Conversation
            key={sessionId}
            sessionId={sessionId}
            title={
              known || list.isLoading
                ? titleOf(known, labelsNow().newConversation)
                : say("chat.conversation")
            }
            opening={opening?.sessionId === sessionId ? opening.text : ""}
            isOpened={isMoved}
            onOpened={() => setOpening(undefined)}
            onTurn={() => void refetch()}
          />
        </Suspense>
      ) : (
        <section className="welcome" aria-label={say("chat.start")}>
          <h1>{say("chat.ask", { name })}</h1>
          <p className="soft">{say("chat.what")}</p>
          {(error || sample?.error) && (
            <p role="alert" className="notice bad" dir="auto">
              {error || sample?.error}
            </p>
          )}
          <Opening onSay={start} />
          <ul className="suggestions" aria-label={say("chat.suggestions")}>
            {sample && (
              <li>
                <button
                  type="button"
                  disabled={sample.isLoading}
                  aria-busy={sample.isLoading}
                  onClick={() => void sample.load()}
                >
                  <Icon name="book" />
                  <span>
                    <strong>
                      {sample.isLoading ? say("chat.readingSample") : say("chat.loadSample")}
                    </strong>
                    <span className="soft">{say("chat.aboutSample")}</span>
                  </span>
                </button>
              </li>
            )}
            {suggestions.map((s) => (
              <li key={s.title}>
                <button type="button" onClick={() => void start(s.text)}>
                  <Icon name={s.icon} />
                  <span>
                    <strong dir="auto">{s.title}</strong>
                    <span className="soft">{s.about}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
