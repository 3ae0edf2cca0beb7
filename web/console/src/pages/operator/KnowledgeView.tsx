import { useCallback } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { short } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say } from "../../words";
import { QuestionDesk, type StaffAsk } from "../knowledge/QuestionDesk";
import { ask, useLook } from "./api";

interface Offered {
  id: string;
  namespace: string;
  name: string;
  folder: string;
  readers: "everybody" | "members";
  published: boolean;
}

const base = "/operator/knowledge";
const listing = "castalia knowledge publish";

/** Questions of every collection, and which collections may answer many. */
export function KnowledgeView() {
  const session = useSession();
  const asStaff: StaffAsk = useCallback(
    (path, method, body) => ask(session, base + path, method, body),
    [session],
  );
  return (
    <div className="stack">
      <QuestionDesk staff="operator" ask={asStaff} empty={say("operator.noQuestion")} />
      <Publishing />
    </div>
  );
}

/** A collection for everybody or members answers them once an operator agrees. */
function Publishing() {
  const session = useSession();
  const { data, error } = useLook<{ collections: Offered[]; next?: string }>(`${base}/collections`);
  const { run, isBusy, error: refusal } = useDoing([]);
  const kept = useKeptFocus<HTMLUListElement>();
  const set = ({ id, readers, published }: Offered) => {
    const path = `${base}/collections/${encodeURIComponent(id)}/published`;
    run(() => (published ? ask(session, path, "DELETE") : ask(session, path, "PUT", { readers })));
  };
  return (
    <section
      className="card stack"
      aria-label={say("operator.published")}
      aria-busy={!data && !error}
    >
      <h2>{say("operator.published")}</h2>
      <p className="soft">{say("operator.publishedHint")}</p>
      <Problem error={refusal || error} />
      {!data && !error && <Skeleton lines={3} label={say("operator.readingCollections")} />}
      {data?.collections.length === 0 && <p className="soft">{say("operator.noCollection")}</p>}
      {data && data.collections.length > 0 && (
        <ul {...kept} className="plain locks" aria-label={say("operator.collections")}>
          {data.collections.map((one) => (
            <li key={one.id} className="row spread nowrap">
              <span>
                <strong dir="auto">{one.name}</strong>
                <span className="soft small block">
                  {say("operator.collectionOf", {
                    readers: one.readers,
                    folder: one.folder,
                    owner: short(one.namespace, 16, 6),
                  })}
                </span>
              </span>
              <button
                type="button"
                disabled={isBusy}
                aria-label={say(one.published ? "operator.takeBackOne" : "operator.publishOne", {
                  name: one.name,
                })}
                onClick={() => set(one)}
              >
                {say(one.published ? "operator.takeBack" : "operator.publish")}
              </button>
            </li>
          ))}
        </ul>
      )}
      {data?.next && (
        <p className="soft small">
          <Say
            id="operator.moreCollections"
            values={{ command: <code dir="auto">{listing}</code> }}
          />
        </p>
      )}
    </section>
  );
}
