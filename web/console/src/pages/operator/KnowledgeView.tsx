import { useCallback } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { short } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
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

/** Questions of every collection, and which collections may answer many. */
export function KnowledgeView() {
  const session = useSession();
  const asStaff: StaffAsk = useCallback(
    (path, method, body) => ask(session, base + path, method, body),
    [session],
  );
  return (
    <div className="stack">
      <QuestionDesk staff="operator" ask={asStaff} empty="No question waits." />
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
    <section className="card stack" aria-label="Published collections" aria-busy={!data && !error}>
      <h2>Published collections</h2>
      <p className="soft">
        What is for everybody or members answers people who did not choose whose documents they
        hear. Publish those whose owner you trust: what is added later is published too.
      </p>
      <Problem error={refusal || error} />
      {!data && !error && <Skeleton lines={3} label="Reading the collections" />}
      {data?.collections.length === 0 && (
        <p className="soft">No collection is for everybody or for members.</p>
      )}
      {data && data.collections.length > 0 && (
        <ul {...kept} className="plain locks" aria-label="Collections">
          {data.collections.map((one) => (
            <li key={one.id} className="row spread nowrap">
              <span>
                <strong>{one.name}</strong>
                <span className="soft small block">
                  {`for ${one.readers} · ${one.folder} of ${short(one.namespace, 16, 6)}`}
                </span>
              </span>
              <button
                type="button"
                disabled={isBusy}
                aria-label={`${one.published ? "Take back" : "Publish"} ${one.name}`}
                onClick={() => set(one)}
              >
                {one.published ? "Take back" : "Publish"}
              </button>
            </li>
          ))}
        </ul>
      )}
      {data?.next && (
        <p className="soft small">
          There are more: <code>castalia knowledge publish</code> lists them all.
        </p>
      )}
    </section>
  );
}
