import type { useOracleSessions } from "@castalia/oracles-client";
import { lazy, Suspense, useRef, useState } from "react";
import { ago, messageOf, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { go } from "../../shell/router";
import { Skeleton } from "../../shell/Skeleton";
import { markedAnywhere } from "../../shell/marked";
import { byDay, titleOf, unmarked } from "./sessions";

const Confirm = lazy(() => import("../../shell/Confirm"));
import { useFound, type Found } from "./useFound";

/** The user's conversations, newest first, by day, with a search in what was said. */
export function SessionList(props: {
  list: ReturnType<typeof useOracleSessions>;
  current: string;
  onNew: () => void;
}) {
  const { list, current } = props;
  const [typed, setTyped] = useState("");
  const search = typed.trim();
  const found = useFound(search);
  const [failure, setFailure] = useState("");
  const [now] = useState(() => Date.now());
  const [doomed, setDoomed] = useState<Found>();
  const field = useRef<HTMLInputElement>(null);
  // What was found before stays in sight while the next letters are looked for.
  const isFound = search !== "" && found.search !== "";
  const shown: Found[] = isFound ? found.sessions : list.sessions;
  const isEmpty = shown.length === 0 && !list.isLoading && !found.isSearching;
  const error = failure || (search && found.error);

  async function remove(session: Found) {
    setFailure("");
    try {
      await list.deleteSession(session.sessionId);
      found.forget(session.sessionId);
      if (session.sessionId === current) go("chat");
      // The button that was pressed is gone with its row.
      field.current?.focus();
    } catch (cause) {
      setFailure(messageOf(cause));
    }
  }
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
            ref={field}
            type="search"
            data-search
            placeholder="Search"
            maxLength={200}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <p className="visually-hidden" role="status">
          {isFound &&
            !found.isSearching &&
            !error &&
            `${plural(found.total, "conversation")} found`}
        </p>
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
                  title={`${titleOf(s)}, ${ago(s.lastUpdatedAt)}`}
                >
                  <Marked text={titleOf(s)} search={isFound ? search : ""} />
                  {isFound && s.excerpt && (
                    <span className="excerpt">
                      <Marked text={unmarked(s.excerpt)} search={search} />
                    </span>
                  )}
                </Link>
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Delete ${titleOf(s, "what has no title yet")}`}
                  title="Delete"
                  onClick={() => setDoomed(s)}
                >
                  <Icon name="trash" />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {(list.isLoading || (found.isSearching && shown.length === 0)) && (
        <Skeleton lines={3} label={search ? "Searching" : "Reading your conversations"} />
      )}
      {isEmpty && !error && (
        <p className="soft small centre">
          {search ? "Nothing was said with these words." : "No conversations yet."}
        </p>
      )}
      {isFound
        ? found.hasMore && <More busy={found.isReading} label="More found" onClick={found.more} />
        : list.hasNextPage && (
            <More
              busy={list.isFetchingNextPage}
              label="Older conversations"
              onClick={() => {
                list.fetchNextPage().catch((cause: unknown) => setFailure(messageOf(cause)));
              }}
            />
          )}
      {doomed && (
        <Suspense>
          <Confirm
            title="Delete this conversation?"
            action="Delete"
            onConfirm={() => void remove(doomed)}
            onClose={() => setDoomed(undefined)}
          >
            “{titleOf(doomed)}” is deleted for good, with all that was said in it.
          </Confirm>
        </Suspense>
      )}
    </aside>
  );
}

function Marked({ text, search }: { text: string; search: string }) {
  return markedAnywhere(text, search).map((part, i) =>
    part.isFound ? <mark key={i}>{part.text}</mark> : part.text,
  );
}

function More(props: { busy: boolean; label: string; onClick: () => void }) {
  return (
    <button type="button" className="wide" disabled={props.busy} onClick={props.onClick}>
      {props.label}
    </button>
  );
}
