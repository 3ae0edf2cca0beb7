import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { Dialog } from "../../shell/Dialog";
import { bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import type { Files } from "./api";
import { codeOf, linkAddress, rememberLink } from "./links";
import { inWords, makeShare, plainPath, type MadeShare, type Offer } from "./grant";
import { say } from "../../words";

export type Chosen = Offer["what"];

const didExample = "did:key:…";

/** Makes a link or a delegation, and says in words what it grants before it is made. */
export function ShareDialog(props: { chosen: Chosen; files: Files; onClose: () => void }) {
  const { chosen, files } = props;
  const session = useSession();
  const [hours, setHours] = useState(168);
  const [maxUses, setMaxUses] = useState(0);
  const [who, setWho] = useState<"link" | "plain" | "did" | "upload">("link");
  const [did, setDid] = useState("");
  const [maxBytes, setMaxBytes] = useState(1 << 30);
  const [maxFiles, setMaxFiles] = useState(100);
  const [made, setMade] = useState<Pick<MadeShare, "link"> & Partial<MadeShare>>();
  const { run, isBusy, error } = useDoing(["links"]);
  const offer: Offer = {
    what: chosen,
    hours,
    maxUses,
    ...(who === "did" ? { to: did.trim() } : {}),
    isPlain: who === "plain",
    ...(who === "upload" ? { takes: { maxBytes, maxFiles } } : {}),
  };
  const plain = plainPath(chosen);
  const words = inWords(offer);
  const ready = who !== "did" || /^did:[a-z0-9]+:.{4,}/.test(did.trim());

  function make(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      if (who === "plain" && plain !== undefined) {
        const { url } = await files.sharePlainly(plain, hours, maxUses);
        return setMade({ link: linkAddress(url, location.origin) });
      }
      if (offer.takes && chosen.kind === "folder") {
        const { url } = await files.takeUploads(chosen.path, hours, offer.takes);
        return setMade({ link: linkAddress(url, location.origin) });
      }
      const share = await makeShare(session, offer, location.origin);
      const { id } = await files.registerShare(share.delegation, share.path, maxUses);
      if (chosen.kind === "files") rememberLink(files.owner, id, chosen.names);
      setMade(share);
    });
  }
  const code = made && codeOf(made.link);
  const title =
    chosen.kind === "folder"
      ? chosen.path === "/"
        ? say("files.shareAll")
        : say("files.shareWhat", { what: chosen.path })
      : chosen.names.length === 1
        ? say("files.shareWhat", { what: chosen.names[0] ?? "" })
        : say("files.shareFiles", { n: chosen.names.length });
  return (
    <Dialog title={title} onClose={props.onClose}>
      <form className="stack" onSubmit={make}>
        {made ? (
          <p className="made-note">
            <Icon name="check" /> {say(who === "did" ? "files.didLinkReady" : "files.linkReady")}
          </p>
        ) : (
          <>
            <fieldset>
              <legend>{say("files.withWhom")}</legend>
              <label className="choice">
                <input
                  type="radio"
                  name="who"
                  checked={who === "link"}
                  onChange={() => setWho("link")}
                />
                {say("files.withLink")}
              </label>
              {plain !== undefined && (
                <label className="choice">
                  <input
                    type="radio"
                    name="who"
                    checked={who === "plain"}
                    onChange={() => setWho("plain")}
                  />
                  {say("files.withPlain")}
                </label>
              )}
              <label className="choice">
                <input
                  type="radio"
                  name="who"
                  checked={who === "did"}
                  onChange={() => setWho("did")}
                />
                {say("files.withDid")}
              </label>
              {chosen.kind === "folder" && (
                <label className="choice">
                  <input
                    type="radio"
                    name="who"
                    checked={who === "upload"}
                    onChange={() => setWho("upload")}
                  />
                  {say("files.withUploads")}
                </label>
              )}
              {who === "did" && (
                <label>
                  {say("files.readersDid")}
                  <input
                    value={did}
                    placeholder={didExample}
                    autoComplete="off"
                    onChange={(event) => setDid(event.target.value)}
                  />
                </label>
              )}
            </fieldset>
            <fieldset className="pair">
              <legend className="visually-hidden">{say("files.limits")}</legend>
              <label>
                {say("files.howLong")}
                <select value={hours} onChange={(event) => setHours(Number(event.target.value))}>
                  <option value={1}>{say("files.anHour")}</option>
                  <option value={24}>{say("files.aDay")}</option>
                  <option value={168}>{say("files.aWeek")}</option>
                  <option value={720}>{say("shell.days", { n: 30 })}</option>
                  <option value={8760}>{say("files.aYear")}</option>
                </select>
              </label>
              {who === "upload" ? (
                <>
                  <label>
                    {say("files.howMuch")}
                    <select
                      value={maxBytes}
                      onChange={(event) => setMaxBytes(Number(event.target.value))}
                    >
                      {[10, 100, 1024, 10_240].map((mib) => (
                        <option key={mib} value={mib * 2 ** 20}>
                          {bytes(mib * 2 ** 20)}
                        </option>
                      ))}
                    </select>
                  </label>
                  <label>
                    {say("files.howManyFiles")}
                    <select
                      value={maxFiles}
                      onChange={(event) => setMaxFiles(Number(event.target.value))}
                    >
                      {[1, 10, 100, 1000].map((n) => (
                        <option key={n} value={n}>
                          {n}
                        </option>
                      ))}
                    </select>
                  </label>
                </>
              ) : (
                <label>
                  {say("files.howOften")}
                  <select
                    value={maxUses}
                    onChange={(event) => setMaxUses(Number(event.target.value))}
                  >
                    <option value={0}>{say("files.noLimit")}</option>
                    <option value={1}>{say("files.once")}</option>
                    <option value={10}>{say("files.times", { n: 10 })}</option>
                    <option value={100}>{say("files.times", { n: 100 })}</option>
                  </select>
                </label>
              )}
            </fieldset>
          </>
        )}
        <section className="grant" aria-label={say("files.whatItGrants")} aria-live="polite">
          <ul>
            {words.grants.map((line) => (
              <li key={line} className="yes">
                <Icon name="check" /> {line}
              </li>
            ))}
            {words.keeps.map((line) => (
              <li key={line} className="no">
                <Icon name="lock" /> {line}
              </li>
            ))}
          </ul>
        </section>
        <Problem error={error} />
        {made ? (
          <div className="made" role="status">
            <label htmlFor="made-link">{say(who === "did" ? "files.didLink" : "files.link")}</label>
            <div className="row nowrap">
              <input
                id="made-link"
                readOnly
                autoFocus
                value={made.link}
                onFocus={(event) => event.target.select()}
              />
              <CopyButton text={made.link} label={say("files.copyLink")} />
            </div>
            {code && (
              <p className="made-code">
                <img src={code} alt={say("files.qrCode")} width={180} height={180} />
              </p>
            )}
            {made.delegation && (
              <details>
                <summary className="small soft">{say("files.delegationItself")}</summary>
                <div className="row nowrap">
                  <pre
                    className="token grow"
                    role="region"
                    aria-label={say("files.delegation")}
                    tabIndex={0}
                  >
                    {made.delegation}
                  </pre>
                  <CopyButton text={made.delegation} label={say("files.copyDelegation")} />
                </div>
              </details>
            )}
          </div>
        ) : (
          <button type="submit" className="primary wide" disabled={!ready || isBusy}>
            <Icon name="share" /> {say("files.makeLink")}
          </button>
        )}
      </form>
    </Dialog>
  );
}
