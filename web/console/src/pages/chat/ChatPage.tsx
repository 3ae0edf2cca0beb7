import { useOracleSessions } from "@castalia/oracles-client";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useSession } from "../../identity/session";
import { useFeatures } from "../../shell/features";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { go } from "../../shell/router";
// What a narrow window changes is in the last.
import "./sessions.css";
import "./messages.css";
import "./chat.css";
import { here } from "./here";
import { SessionList } from "./SessionList";
import { titleOf } from "./sessions";
import { Opening } from "./Opening";
import { suggestions } from "./suggestions";

const loadConversation = () => import("./Conversation");
const Conversation = lazy(loadConversation);

/** Conversations with the oracle. */
export default function ChatPage({ sessionId }: { sessionId: string }) {
  const { serviceDid } = useSession();
  const { name } = useFeatures();
  const list = useOracleSessions(serviceDid, { baseUrl: here.baseUrl, limit: 50 });
  const { createSession, isConfigReady, refetch } = list;
  const [error, setError] = useState("");
  // What a suggestion says is the first message of the conversation that it starts.
  const [opening, setOpening] = useState<{ sessionId: string; text: string }>();
  const starting = useRef(false);
  const [arrived] = useState(sessionId);
  const [isMoved, setMoved] = useState(false);
  if (!isMoved && sessionId !== arrived) setMoved(true);
  // It comes while the first page is read, and is there when it is wanted.
  useEffect(() => void loadConversation().catch(() => undefined), []);

  async function start(text = "") {
    if (starting.current) return;
    starting.current = true;
    try {
      const session = await createSession();
      if (text) setOpening({ sessionId: session.sessionId, text });
      go(`chat/${encodeURIComponent(session.sessionId)}`);
      setError("");
    } catch (cause) {
      setError(messageOf(cause));
    } finally {
      starting.current = false;
    }
  }
  const begin = useRef(start);
  useEffect(() => {
    begin.current = start;
  });
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
    if (isNew && isConfigReady) void begin.current();
  }, [isNew, isConfigReady]);

  const classes = ["chat"];
  if (sessionId) classes.push("with-session");
  if (list.sessions.length > 0) classes.push("with-history");
  return (
    <div className={classes.join(" ")}>
      <SessionList list={list} current={sessionId} onNew={() => void start()} />
      {sessionId && !isNew ? (
        <Suspense fallback={<section className="conversation" aria-busy="true" />}>
          <Conversation
            key={sessionId}
            sessionId={sessionId}
            title={known || list.isLoading ? titleOf(known) : "Conversation"}
            opening={opening?.sessionId === sessionId ? opening.text : ""}
            isOpened={isMoved}
            onOpened={() => setOpening(undefined)}
            onTurn={() => void refetch()}
          />
        </Suspense>
      ) : (
        <section className="welcome" aria-label="Start">
          <h1>Ask {name}</h1>
          <p className="soft">
            It answers from its documentation, looks things up on the chain, and works with your
            files when you let it.
          </p>
          {(error || list.error) && (
            <p role="alert" className="notice bad">
              {error || messageOf(list.error)}
            </p>
          )}
          <Opening onSay={(text) => void start(text)} />
          <ul className="suggestions" aria-label="Suggestions">
            {suggestions.map((s) => (
              <li key={s.title}>
                <button type="button" onClick={() => void start(s.text)}>
                  <Icon name={s.icon} />
                  <span>
                    <strong>{s.title}</strong>
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
