import { useAsked, useDoing } from "../../shell/asked";
import { ago, bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { Files, ShareRecord } from "./api";
import { namesOf } from "./links";
import { say, type Key } from "../../words";

function stateOf(share: ShareRecord): string {
  if (share.state) return share.state;
  if (share.revokedAt) return "ended";
  if (share.expiresAt && new Date(share.expiresAt).getTime() < Date.now()) return "expired";
  if (share.maxUses && share.uses >= share.maxUses) return "used up";
  return "open";
}

/** The states that the store knows, in words. */
const states: Record<string, Key> = {
  open: "files.stateOpen",
  ended: "files.stateEnded",
  expired: "files.stateExpired",
  "used up": "files.stateUsedUp",
};

function stateInWords(share: ShareRecord): string {
  const state = stateOf(share);
  return states[state] ? say(states[state]) : state;
}

/** A folder by its path; content by the names that it had in this browser. */
function whatOf(share: ShareRecord, owner: string): string {
  if (share.path !== "/") return share.path.slice(1);
  const [first, ...more] = namesOf(owner, share.id) ?? [say("files.chosenFiles")];
  return more.length === 0
    ? (first ?? "")
    : say("files.andMoreFiles", { first: first ?? "", n: more.length });
}

function readOf(share: ShareRecord): string {
  if (share.upload) return say("files.fileCount", { n: share.uses });
  return share.maxUses
    ? say("files.usesOf", { uses: share.uses, max: share.maxUses })
    : say("files.times", { n: share.uses });
}

/** When it ends, or did. */
function endOf(share: ShareRecord): string {
  if (share.revokedAt) return ago(share.revokedAt);
  return share.expiresAt ? ago(share.expiresAt) : say("files.never");
}

/** Links that were given away, how often they were used, and a way to end them. */
export function LinksView({ files }: { files: Files }) {
  const { data: list, error } = useAsked({ queryKey: ["links"], queryFn: () => files.shares() });
  const { run, error: refusal } = useDoing(["links"]);
  const table = useKeptFocus<HTMLElement>();
  return (
    <section
      {...table}
      className="card table"
      aria-busy={!list && !error}
      aria-label={say("files.links")}
    >
      <Problem error={refusal || error} />
      {!list && !error && <Skeleton lines={4} label={say("files.readingLinks")} />}
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="share" />
          <p>{say("files.nothingShared")}</p>
          <p className="soft small">{say("files.shareHint")}</p>
        </div>
      )}
      {list && list.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>{say("files.linkTo")}</th>
              <th className="wide-only">{say("files.state")}</th>
              <th className="wide-only">{say("files.made")}</th>
              <th className="wide-only">{say("files.ends")}</th>
              <th className="number wide-only">{say("files.used")}</th>
              <th>
                <span className="visually-hidden">{say("files.actions")}</span>
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
                      {say("files.forUploads", {
                        got: bytes(share.bytes ?? 0),
                        max: bytes(share.maxBytes ?? 0),
                      })}
                    </span>
                  ) : (
                    share.plain && (
                      <span className="soft small block">{say("files.plainAddress")}</span>
                    )
                  )}
                  <span className="narrow-only soft small under-name">
                    {stateInWords(share)} ·{" "}
                    {say(share.upload ? "files.got" : "files.read", { count: readOf(share) })}
                    {stateOf(share) === "open" &&
                      ` · ${say("files.endsWhen", { when: endOf(share) })}`}
                  </span>
                </td>
                <td className="wide-only">
                  <span className={stateOf(share) === "open" ? "badge good" : "badge"}>
                    {stateInWords(share)}
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
                      aria-label={say("files.endLink", { what: whatOf(share, files.owner) })}
                      onClick={() => run(() => files.endShare(share.id))}
                    >
                      {say("files.end")}
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
