import { useAsked, useDoing } from "../../shell/asked";
import { ago, bytes, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { Files, ShareRecord } from "./api";
import { namesOf } from "./links";

function stateOf(share: ShareRecord): string {
  if (share.state) return share.state;
  if (share.revokedAt) return "ended";
  if (share.expiresAt && new Date(share.expiresAt).getTime() < Date.now()) return "expired";
  if (share.maxUses && share.uses >= share.maxUses) return "used up";
  return "open";
}

/** A folder by its path; content by the names that it had in this browser. */
function whatOf(share: ShareRecord, owner: string): string {
  if (share.path !== "/") return share.path.slice(1);
  const [first, ...more] = namesOf(owner, share.id) ?? ["Chosen files"];
  return more.length === 0 ? (first ?? "") : `${first} and ${plural(more.length, "more file")}`;
}

function readOf(share: ShareRecord): string {
  if (share.upload) return plural(share.uses, "file");
  return share.maxUses ? `${share.uses} of ${share.maxUses}` : plural(share.uses, "time");
}

/** When it ends, or did. */
function endOf(share: ShareRecord): string {
  if (share.revokedAt) return ago(share.revokedAt);
  return share.expiresAt ? ago(share.expiresAt) : "never";
}

/** Links that were given away, how often they were used, and a way to end them. */
export function LinksView({ files }: { files: Files }) {
  const { data: list, error } = useAsked({ queryKey: ["links"], queryFn: () => files.shares() });
  const { run, error: refusal } = useDoing(["links"]);
  const table = useKeptFocus<HTMLElement>();
  return (
    <section {...table} className="card table" aria-busy={!list && !error} aria-label="Links">
      <Problem error={refusal || error} />
      {!list && !error && <Skeleton lines={4} label="Reading the links" />}
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
              <th className="wide-only">State</th>
              <th className="wide-only">Made</th>
              <th className="wide-only">Ends</th>
              <th className="number wide-only">Used</th>
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((share) => (
              <tr key={share.id}>
                <td className="path-cell">
                  {whatOf(share, files.owner)}
                  {share.upload ? (
                    <span className="soft small block">
                      for uploads, {bytes(share.bytes ?? 0)} of {bytes(share.maxBytes ?? 0)}
                    </span>
                  ) : (
                    share.plain && <span className="soft small block">plain address</span>
                  )}
                  <span className="narrow-only soft small under-name">
                    {stateOf(share)} · {share.upload ? "got" : "read"} {readOf(share)}
                    {stateOf(share) === "open" && ` · ends ${endOf(share)}`}
                  </span>
                </td>
                <td className="wide-only">
                  <span className={stateOf(share) === "open" ? "badge good" : "badge"}>
                    {stateOf(share)}
                  </span>
                </td>
                <td className="wide-only soft nobreak">{ago(share.createdAt)}</td>
                <td className="wide-only soft nobreak">{endOf(share)}</td>
                <td className="number wide-only">{readOf(share)}</td>
                <td className="number">
                  {stateOf(share) === "open" && (
                    <button
                      type="button"
                      className="danger"
                      aria-label={`End the link to ${whatOf(share, files.owner)}`}
                      onClick={() => run(() => files.endShare(share.id))}
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
