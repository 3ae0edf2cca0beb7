import { useEffect, useState } from "react";
import { ago, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { Files, ShareRecord } from "./api";

function stateOf(share: ShareRecord): string {
  if (share.revokedAt) return "ended";
  if (share.expiresAt && new Date(share.expiresAt).getTime() < Date.now()) return "expired";
  if (share.maxUses && share.uses >= share.maxUses) return "used up";
  return "open";
}

/** Links that were given away, how often they were used, and a way to end them. */
export function LinksView(props: {
  files: Files;
  round: number;
  onChanged: () => void;
  onError: (cause: unknown) => void;
}) {
  const { files, round, onChanged, onError } = props;
  const [list, setList] = useState<ShareRecord[]>();
  useEffect(() => {
    let gone = false;
    files.shares().then((all) => {
      if (!gone) setList(all);
    }, onError);
    return () => {
      gone = true;
    };
  }, [files, round, onError]);
  return (
    <section className="card table" aria-busy={!list} aria-label="Links">
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="share" />
          <p>Nothing is shared.</p>
          <p className="soft small">Choose files, or open a folder, and share it.</p>
        </div>
      )}
      {list && list.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>What</th>
              <th>State</th>
              <th className="wide-only">Made</th>
              <th className="wide-only">Ends</th>
              <th className="number">Read</th>
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((share) => (
              <tr key={share.id}>
                <td className="path-cell">{share.path === "/" ? "Chosen files" : share.path}</td>
                <td>
                  <span className={stateOf(share) === "open" ? "badge good" : "badge"}>
                    {stateOf(share)}
                  </span>
                </td>
                <td className="wide-only soft">{ago(share.createdAt)}</td>
                <td className="wide-only soft">
                  {share.expiresAt ? ago(share.expiresAt) : "never"}
                </td>
                <td className="number">
                  {share.maxUses ? `${share.uses} of ${share.maxUses}` : plural(share.uses, "time")}
                </td>
                <td className="number">
                  {stateOf(share) === "open" && (
                    <button
                      type="button"
                      className="danger"
                      onClick={() => void files.endShare(share.id).then(onChanged, onError)}
                    >
                      End
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
