import type { useOracleSessions } from "@castalia/oracles-client";
import { useEffect, useState } from "react";
import { ago, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { go } from "../../shell/router";
import { Skeleton } from "../../shell/Skeleton";
import { byDay, matching } from "./sessions";

/** The user's conversations, newest first, by day, with search in their titles. */
export function SessionList(props: {
  list: ReturnType<typeof useOracleSessions>;
  current: string;
  onNew: () => void;
}) {
  const { list, current } = props;
  const [search, setSearch] = useState("");
  const [error, setError] = useState("");
  const [now] = useState(() => Date.now());
  const shown = matching(list.sessions, search);
  // A search is over all conversations: those not read yet are read then.
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const reads = search !== "" && hasNextPage && !isFetchingNextPage && !error;
  useEffect(() => {
    if (reads) fetchNextPage().catch((cause: unknown) => setError(messageOf(cause)));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- what it calls is new with every render
  }, [reads, list.sessions.length]);
  return (
    <aside aria-label="Conversations" className="sessions">
      <div className="sessions-head">
        <button className="primary wide" type="button" onClick={props.onNew}>
          <Icon name="plus" /> New conversation
        </button>
        <label className="field-icon">
          <span className="visually-hidden">Search conversations</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </label>
      </div>
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
      {byDay(shown, now).map(([day, sessions]) => (
        <section key={day} aria-label={day}>
          <h2 className="section-label">{day}</h2>
          <ul className="plain">
            {sessions.map((s) => (
              <li key={s.sessionId}>
                <Link
                  to={`chat/${encodeURIComponent(s.sessionId)}`}
                  current={s.sessionId === current}
                  title={`${s.title || "Untitled"}, ${ago(s.lastUpdatedAt)}`}
                >
                  {s.title || "Untitled"}
                </Link>
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Delete ${s.title || "this conversation"}`}
                  onClick={() => {
                    if (!confirm(`Delete “${s.title || "Untitled"}” for good?`)) return;
                    list.deleteSession(s.sessionId).then(
                      () => {
                        if (s.sessionId === current) go("chat");
                      },
                      (cause: unknown) => setError(messageOf(cause)),
                    );
                  }}
                >
                  <Icon name="trash" />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {list.isLoading && <Skeleton lines={3} label="Reading your conversations" />}
      {!list.isLoading && !reads && !isFetchingNextPage && shown.length === 0 && (
        <p className="soft small centre" role="status">
          {search ? "No conversation has this in its title." : "No conversations yet."}
        </p>
      )}
      {hasNextPage && !search && (
        <button
          type="button"
          className="wide"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage().catch((cause: unknown) => setError(messageOf(cause)))}
        >
          Older conversations
        </button>
      )}
    </aside>
  );
}
