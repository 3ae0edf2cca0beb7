import { useChat, useOracleSessions } from "@castalia/oracles-client";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { useSession } from "../../identity/session";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { go } from "../../shell/router";
import { browserTools } from "./browserTools";
import { MessageView } from "./MessageView";

const here = { baseUrl: location.origin, wsUrl: location.origin };

/** Conversations with the oracle. */
export function ChatPage({ sessionId }: { sessionId: string }) {
  const { serviceDid } = useSession();
  const list = useOracleSessions(serviceDid, { baseUrl: here.baseUrl });
  const { createSession, deleteSession, refetch } = list;

  async function start() {
    const session = await createSession();
    go(`chat/${encodeURIComponent(session.sessionId)}`);
  }
  return (
    <div className={sessionId ? "chat with-session" : "chat"}>
      <aside aria-label="Conversations">
        <button className="primary wide" type="button" onClick={() => void start()}>
          <Icon name="plus" /> New conversation
        </button>
        <ul>
          {list.sessions.map((s) => (
            <li key={s.sessionId}>
              <Link
                to={`chat/${encodeURIComponent(s.sessionId)}`}
                current={s.sessionId === sessionId}
              >
                {s.title || "Untitled"}
              </Link>
              <button
                type="button"
                className="quiet"
                aria-label={`Delete ${s.title || "this conversation"}`}
                onClick={() => {
                  void deleteSession(s.sessionId).then(() => {
                    if (s.sessionId === sessionId) go("chat");
                  });
                }}
              >
                <Icon name="trash" />
              </button>
            </li>
          ))}
        </ul>
        {list.hasNextPage && (
          <button type="button" onClick={() => void list.fetchNextPage()}>
            Older conversations
          </button>
        )}
      </aside>
      {sessionId ? (
        <Conversation key={sessionId} sessionId={sessionId} onTurn={() => void refetch()} />
      ) : (
        <section className="empty">
          <h1>Ask your oracle</h1>
          <p className="soft">
            It knows this system&apos;s own documentation, can look things up on the chain, and can
            work with your files when you let it.
          </p>
          <button className="primary" type="button" onClick={() => void start()}>
            Start a conversation
          </button>
        </section>
      )}
    </div>
  );
}

function Conversation({ sessionId, onTurn }: { sessionId: string; onTurn: () => void }) {
  const { serviceDid } = useSession();
  const [claims, setClaims] = useState<string[]>();
  const chat = useChat({
    oracleDid: serviceDid,
    sessionId,
    overrides: here,
    browserTools,
    onPaymentRequiredError: setClaims,
    onEvent: (event) => {
      if (event.eventName === "message_cache_invalidation") onTurn();
    },
  });
  const end = useRef<HTMLDivElement>(null);
  const size = chat.messages.length;
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [size, chat.messages]);

  return (
    <section className="conversation" aria-label="Conversation">
      <div className="back">
        <Link to="chat" className="button">
          <Icon name="back" /> Conversations
        </Link>
      </div>
      <div className="messages" role="log" aria-live="polite" aria-busy={chat.isSending}>
        {chat.hasEarlier && (
          <button
            type="button"
            disabled={chat.isLoadingEarlier}
            onClick={() => void chat.loadEarlier()}
          >
            Earlier messages
          </button>
        )}
        {!chat.isLoading && size === 0 && (
          <p className="soft centre">
            Try: “What is Castalia?”, “What time is it?” or “Which theme do I use?”
          </p>
        )}
        {chat.messages.map((message) => (
          <MessageView key={message.id} message={message} />
        ))}
        {chat.status === "submitted" && <p className="soft">Sending…</p>}
        {claims && (
          <p role="alert" className="notice">
            The oracle wants to be paid first. Open claims: {claims.join(", ") || "none named"}.
          </p>
        )}
        {(chat.sendMessageError ?? chat.error) && (
          <p role="alert" className="notice bad">
            {(chat.sendMessageError ?? chat.error)?.message}
          </p>
        )}
        <div ref={end} />
      </div>
      <Composer
        busy={chat.isSending}
        onSend={(text) => void chat.sendMessage(text).catch(() => undefined)}
        onStop={() => void chat.abortStream()}
      />
      <p className="soft small status" role="status">
        {chat.isRealTimeConnected ? "Live" : "Connecting the live channel…"}
      </p>
    </section>
  );
}

function Composer(props: { busy: boolean; onSend: (text: string) => void; onStop: () => void }) {
  const [text, setText] = useState("");
  function send(event?: FormEvent) {
    event?.preventDefault();
    const message = text.trim();
    if (!message) return;
    setText("");
    props.onSend(message);
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  }
  return (
    <form className="composer" onSubmit={send}>
      <label className="visually-hidden" htmlFor="message">
        Your message
      </label>
      <textarea
        id="message"
        rows={1}
        value={text}
        placeholder="Ask anything"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {props.busy ? (
        <button type="button" onClick={props.onStop} aria-label="Stop the answer">
          <Icon name="stop" />
        </button>
      ) : (
        <button className="primary" type="submit" aria-label="Send" disabled={!text.trim()}>
          <Icon name="send" />
        </button>
      )}
    </form>
  );
}
