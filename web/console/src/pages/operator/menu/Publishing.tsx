import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useAsked } from "../../../shell/asked";
import Confirm from "../../../shell/Confirm";
import { moment } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { Say, say } from "../../../words";
import { ask } from "../api";
import { changedScreens, compare, type Change } from "./draft";
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
        <p className="soft">{say("menu.same")}</p>
      ) : (
        <>
          {words.length > 0 && (
            <ul aria-label={say("menu.changedScreens")}>
              {words.map((word) => (
                <li key={word}>{word}</li>
              ))}
            </ul>
          )}
          <div
            className="menu-diff mono"
            role="region"
            aria-label={say("menu.changedLines")}
            tabIndex={0}
          >
            {lines.map((line, i) => (
              <div key={i} className={line.kind}>
                <span aria-hidden="true">{signs[line.kind]}</span>
                <ChangedLine change={line} />
              </div>
            ))}
          </div>
        </>
      )}
      {live.readOnly ? (
        <p className="notice">
          {live.where
            ? say("menu.comesFrom", { where: live.where })
            : say("menu.comesFromSettings")}
        </p>
      ) : (
        <form className="stack" onSubmit={publish}>
          <label>
            {say("menu.why")}
            <input value={note} maxLength={200} onChange={(event) => setNote(event.target.value)} />
          </label>
          <Problem error={work.doing.error} />
          {work.isBehind && (
            <div className="notice row spread" role="status">
              <span>{say("menu.behind", { version: String(live.newest) })}</span>
              <button type="button" onClick={work.follow}>
                {say("menu.looked")}
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
            {say("menu.publish")}
          </button>
          <p className="small soft">
            {say(draft.issues.length > 0 ? "menu.mustPass" : "menu.publishHint")}
          </p>
        </form>
      )}
    </div>
  );
}

const signs: Record<Change["kind"], string> = { added: "+ ", removed: "− ", same: "  ", gap: "⋯" };

/** A line, and for who does not see the colours what became of it. */
function ChangedLine({ change: { kind, text } }: { change: Change }) {
  const line = <span dir="auto">{text}</span>;
  if (kind !== "added" && kind !== "removed") return line;
  return (
    <Say
      id={kind === "added" ? "menu.added" : "menu.removed"}
      values={{ line }}
      tags={{ hidden: (said) => <span className="visually-hidden">{said}</span> }}
    />
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

/** Who wrote a version, when, and what it is made of. */
function writtenWords({ author, written, restores, removed }: Version): string {
  const by = { author, when: moment(written) };
  if (!restores) return say(removed ? "menu.writtenBuiltIn" : "menu.written", by);
  const again = { ...by, restores: String(restores) };
  return say(removed ? "menu.writtenBuiltInAgain" : "menu.writtenAgain", again);
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
      <Skeleton lines={4} label={say("menu.readingHistory")} />
    );
  }
  const { versions } = history.data;
  return (
    <div className="stack">
      <Problem error={work.doing.error} />
      {versions.length === 0 && <p className="soft">{say("menu.nothingPublished")}</p>}
      <ol className="plain menu-history">
        {versions.map((one) => (
          <li key={one.version} className="row spread">
            <div>
              <strong>{say("menu.version", { version: String(one.version) })}</strong>
              {one.version === work.live?.version && (
                <span className="badge good">{say("menu.live")}</span>
              )}{" "}
              <span className="small soft">{writtenWords(one)}</span>
              {one.note && (
                <p className="small" dir="auto">
                  {one.note}
                </p>
              )}
            </div>
            {one.version !== work.live?.newest && !work.live?.readOnly && (
              <button
                type="button"
                disabled={work.doing.isBusy}
                onClick={() => setBack(one.version)}
              >
                {say("menu.rollBackTo", { version: String(one.version) })}
              </button>
            )}
          </li>
        ))}
      </ol>
      {back !== undefined && (
        <Confirm
          title={say("menu.goBackAsk", { version: String(back) })}
          action={say("menu.rollBack")}
          onConfirm={() => work.restore(back)}
          onClose={() => setBack(undefined)}
        >
          {say("menu.rollBackHint")}
        </Confirm>
      )}
    </div>
  );
}
