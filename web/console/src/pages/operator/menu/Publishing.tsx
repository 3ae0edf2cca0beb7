import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useAsked } from "../../../shell/asked";
import Confirm from "../../../shell/Confirm";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { ask } from "../api";
import { changedScreens, compare } from "./draft";
import type { DraftWork } from "./useDraft";

/** What the draft changes, and the way to publish it. */
export function ChangesView({ work, onDone }: { work: DraftWork; onDone: () => void }) {
  const [note, setNote] = useState("");
  const { draft, form, live } = work;
  if (!draft || !form || !live) return null;
  const lines = work.isChanged ? compare(form.text, draft.text) : [];
  // What is text alone has no screens to compare.
  const words = draft.plain || form.plain ? [] : changedScreens(form.parts, draft.parts);
  function publish(event: FormEvent) {
    event.preventDefault();
    work.publish(note, onDone);
  }
  return (
    <div className="stack">
      {lines.length === 0 ? (
        <p className="soft">The draft is what callers get now.</p>
      ) : (
        <>
          {words.length > 0 && (
            <ul aria-label="Changed screens">
              {words.map((word) => (
                <li key={word}>{word}</li>
              ))}
            </ul>
          )}
          <div className="menu-diff mono" role="region" aria-label="Changed lines" tabIndex={0}>
            {lines.map((line, i) => (
              <div key={i} className={line.kind}>
                <span className="visually-hidden">
                  {line.kind === "added" ? "added: " : line.kind === "removed" ? "removed: " : ""}
                </span>
                <span aria-hidden="true">
                  {{ added: "+ ", removed: "− ", same: "  ", gap: "⋯" }[line.kind]}
                </span>
                {line.text}
              </div>
            ))}
          </div>
        </>
      )}
      {live.readOnly ? (
        <p className="notice">
          {`The menu comes from ${live.where ?? "the server's settings"}: download the draft, put it there, and it is live within a second.`}
        </p>
      ) : (
        <form className="stack" onSubmit={publish}>
          <label>
            Why (kept with the version)
            <input value={note} maxLength={200} onChange={(event) => setNote(event.target.value)} />
          </label>
          <Problem error={work.doing.error} />
          {work.isBehind && (
            <div className="notice row spread" role="status">
              <span>
                Somebody published version {live.newest} since this draft was begun. The lines above
                say what it would change in that one.
              </span>
              <button type="button" onClick={work.follow}>
                I have looked at it
              </button>
            </div>
          )}
          <button
            className="primary"
            type="submit"
            disabled={
              lines.length === 0 ||
              draft.issues.length > 0 ||
              work.isBehind ||
              work.isWaiting ||
              work.doing.isBusy
            }
          >
            Publish
          </button>
          <p className="small soft">
            {draft.issues.length > 0
              ? "The check has to pass first."
              : "New calls get it within a second; calls under way finish on the menu that they began on."}
          </p>
        </form>
      )}
    </div>
  );
}

interface Version {
  version: number;
  author: string;
  note?: string;
  written: string;
  removed?: boolean;
  restores?: number;
}

/** The versions that were published, and the way back to each. */
export function HistoryView({ work }: { work: DraftWork }) {
  const session = useSession();
  const history = useAsked<{ versions: Version[] }>({
    queryKey: ["menu", "history"], // asked again after what changes the menu
    queryFn: () => ask(session, "/operator/documents/menu/versions?limit=100"),
  });
  const [back, setBack] = useState<number>();
  if (!history.data) {
    return history.error ? (
      <Problem error={history.error} />
    ) : (
      <Skeleton lines={4} label="Reading the history" />
    );
  }
  const { versions } = history.data;
  return (
    <div className="stack">
      <Problem error={work.doing.error} />
      {versions.length === 0 && <p className="soft">Nothing was published here yet.</p>}
      <ol className="plain menu-history">
        {versions.map((one) => (
          <li key={one.version} className="row spread">
            <div>
              <strong>{`Version ${one.version}`}</strong>
              {one.version === work.live?.version && <span className="badge good">live</span>}{" "}
              <span className="small soft">
                {`${one.author}, ${new Date(one.written).toLocaleString()}`}
                {one.restores ? `, version ${one.restores} again` : ""}
                {one.removed ? ", the built-in menu" : ""}
              </span>
              {one.note && <p className="small">{one.note}</p>}
            </div>
            {one.version !== work.live?.newest && !work.live?.readOnly && (
              <button
                type="button"
                disabled={work.doing.isBusy}
                onClick={() => setBack(one.version)}
              >
                {`Roll back to version ${one.version}`}
              </button>
            )}
          </li>
        ))}
      </ol>
      {back !== undefined && (
        <Confirm
          title={`Go back to version ${back}?`}
          action="Roll back"
          onConfirm={() => work.restore(back)}
          onClose={() => setBack(undefined)}
        >
          It is published again as the newest version, and what you have edited here is given up.
          Calls under way finish on the menu that they began on.
        </Confirm>
      )}
    </div>
  );
}
