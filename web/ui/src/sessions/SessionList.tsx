import type { IChatSession, OracleOverrides, useOracleSessions } from "@castalia/oracles-client";
import { useRef, useState } from "react";
import { messageOf, useLabels } from "../labels";
import { Button, IconButton } from "../parts/Button";
import { isPlainClick } from "../parts/click";
import { Hidden } from "../parts/Hidden";
import { Icon } from "../parts/Icon";
import { markedAnywhere } from "../parts/marked";
import { Problem } from "../parts/Problem";
import { Retrying } from "../parts/Retrying";
import { Skeleton } from "../parts/Skeleton";
import { byDay, titleOf, unmarked } from "./sessions";
import { useFound, type Found } from "./useFound";

export interface SessionListProps {
  /** What `useOracleSessions` gives. */
  list: ReturnType<typeof useOracleSessions>;
  oracleDid: string;
  overrides?: OracleOverrides | undefined;
  /** The conversation that is open. */
  current?: string | undefined;
  /** Begins a conversation; why it could not is shown. */
  onNew: () => void | Promise<void>;
  onOpen: (sessionId: string) => void;
  /** Where a conversation is, so that it opens in another tab too. */
  hrefOf?: (sessionId: string) => string;
  /** Asks whether it is meant, deletes it, and tells whether it is gone. Without, nothing is deleted. */
  onDelete?: (session: IChatSession, title: string) => Promise<boolean>;
}

/** The user's conversations, newest first, by day, with a search in what was said. */
export function SessionList(props: SessionListProps) {
  const { list, current, onDelete } = props;
  const labels = useLabels();
  const [typed, setTyped] = useState("");
  const search = typed.trim();
  const found = useFound(search, props.oracleDid, props.overrides);
  const [failure, setFailure] = useState("");
  const [now] = useState(() => Date.now());
  const field = useRef<HTMLInputElement>(null);
  // What was found before stays in sight while the next letters are looked for.
  const isFound = search !== "" && found.search !== "";
  const shown: Found[] = isFound ? found.sessions : list.sessions;
  const isEmpty = shown.length === 0 && !list.isLoading && !found.isSearching;
  const unread = list.error && !list.isRetrying ? messageOf(list.error, labels) : "";
  const error = failure || (search && found.error) || unread;
  const nameOf = (session: Found) => titleOf(session, labels.newConversation);
  const fail = (cause: unknown) => setFailure(messageOf(cause, labels));

  function begin() {
    setFailure("");
    props.onNew()?.catch(fail);
  }
  async function remove(session: Found) {
    setFailure("");
    try {
      if (!(await onDelete?.(session, nameOf(session)))) return;
      found.forget(session.sessionId);
      // The button that was pressed is gone with its row.
      field.current?.focus();
    } catch (cause) {
      fail(cause);
    }
  }
  return (
    <aside aria-label={labels.conversations} className="castalia-sessions">
      <div className="castalia-sessions-head">
        <Button look="primary wide" onClick={begin}>
          <Icon name="plus" /> {labels.newConversation}
        </Button>
        <label className="castalia-search">
          <Hidden>{labels.searchConversations}</Hidden>
          <Icon name="search" />
          <input
            ref={field}
            className="castalia-field"
            type="search"
            dir="auto"
            data-castalia-search=""
            placeholder={labels.search}
            maxLength={200}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <Hidden role="status">
          {isFound && !found.isSearching && !error && labels.found(found.total)}
        </Hidden>
      </div>
      <Retrying
        isOn={list.isRetrying}
        why={list.error ? messageOf(list.error, labels) : ""}
        retry={list.refetch}
      />
      {error && <Problem>{error}</Problem>}
      {byDay(shown, now, labels).map(([day, sessions]) => (
        <section key={day} aria-label={day}>
          <h2>{day}</h2>
          <ul>
            {sessions.map((s) => (
              <li key={s.sessionId}>
                <a
                  href={props.hrefOf?.(s.sessionId) ?? `#${encodeURIComponent(s.sessionId)}`}
                  aria-current={s.sessionId === current ? "page" : undefined}
                  title={`${nameOf(s)}, ${labels.when(s.lastUpdatedAt)}`}
                  dir="auto"
                  onClick={(event) => {
                    if (!isPlainClick(event)) return;
                    event.preventDefault();
                    props.onOpen(s.sessionId);
                  }}
                >
                  <Marked text={nameOf(s)} search={isFound ? search : ""} />
                  {isFound && s.excerpt && (
                    <span className="castalia-excerpt">
                      <Marked text={unmarked(s.excerpt)} search={search} />
                    </span>
                  )}
                </a>
                {onDelete && (
                  <IconButton
                    icon="trash"
                    label={labels.removeOne(titleOf(s, labels.untitled))}
                    title={labels.remove}
                    onClick={() => void remove(s)}
                  />
                )}
              </li>
            ))}
          </ul>
        </section>
      ))}
      {(list.isLoading || (found.isSearching && shown.length === 0)) && (
        <Skeleton lines={3} label={search ? labels.searching : labels.readingConversations} />
      )}
      {isEmpty && !error && !list.isRetrying && (
        <p className="castalia-soft castalia-centre">{search ? labels.noneFound : labels.none}</p>
      )}
      {isFound
        ? found.hasMore && (
            <Button look="wide" disabled={found.isReading} onClick={found.more}>
              {labels.moreFound}
            </Button>
          )
        : list.hasNextPage && (
            <Button
              look="wide"
              disabled={list.isFetchingNextPage}
              onClick={() => void list.fetchNextPage().catch(fail)}
            >
              {labels.older}
            </Button>
          )}
    </aside>
  );
}

function Marked({ text, search }: { text: string; search: string }) {
  return markedAnywhere(text, search).map((part, i) =>
    part.isFound ? <mark key={i}>{part.text}</mark> : part.text,
  );
}
