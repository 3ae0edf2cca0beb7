import { useState } from "react";
import { loadKey } from "../../identity/vault";
import { once, useAsked, useDoing } from "../../shell/asked";
import { messageOf, short, ago, bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Mark } from "../../shell/Shell";
import { saveAs } from "../../shell/save";
import { Skeleton } from "../../shell/Skeleton";
import { Files, FilesError, type CidRecord } from "../files/api";
import "../files/files.css";
import "./share.css";
import { Preview } from "../files/Preview";
import { Say, say } from "../../words";
import { bearerOf, readLink, type SharedLink } from "./link";

/** What a link shows to whoever has it: no account, no key of one's own. */
export default function SharePage({ serviceDid }: { serviceDid: string }) {
  const [link] = useState<{ found?: SharedLink; problem?: string }>(() => {
    try {
      return { found: readLink(location.hash) };
    } catch (cause) {
      return { problem: messageOf(cause) };
    }
  });
  return (
    <main className="share-page" id="main">
      <header className="brand">
        <Mark /> Castalia
      </header>
      {link.found ? (
        <Shared link={link.found} serviceDid={serviceDid} />
      ) : (
        <section className="card">
          <h1>{say("share.incomplete")}</h1>
          <p className="soft">
            {link.problem} {say("share.copyAgain")}
          </p>
        </section>
      )}
    </main>
  );
}

function explained(cause: unknown): unknown {
  if (cause instanceof FilesError && (cause.status === 401 || cause.status === 403)) {
    return new Error(say("share.over"));
  }
  return cause;
}

/** What the link leads to, with the way to read it. */
async function open(link: SharedLink, serviceDid: string) {
  const key = link.key ?? (await loadKey());
  if (!key || key.did !== link.token.audience) {
    throw new Error(say("share.forOne", { did: short(link.token.audience, 20, 6) }));
  }
  const files = new Files({ owner: key.did, token: bearerOf(link, key, serviceDid) });
  try {
    const list: CidRecord[] = link.cids ? await files.cids() : await files.list(link.folder);
    return { files, list };
  } catch (cause) {
    throw explained(cause);
  }
}

function Shared({ link, serviceDid }: { link: SharedLink; serviceDid: string }) {
  const { data: opened, error: problem } = useAsked({
    queryKey: ["shared"],
    queryFn: () => open(link, serviceDid),
    // A link may be read a few times only.
    ...once,
  });
  const saving = useDoing();
  const [picked, setPicked] = useState<CidRecord | null>();
  const error = problem || saving.error;
  const list = opened?.list;
  // The only file is shown at once.
  const shown = picked === undefined && list?.length === 1 ? list[0] : picked;
  const load = async (file: CidRecord, limit?: number) => {
    if (!opened) throw new Error("not open");
    return link.cids
      ? opened.files.byCid(file.cid, limit)
      : opened.files.content(file.id, undefined, limit);
  };
  return (
    <section className="card stack" aria-busy={!list && !error}>
      <h1>
        {link.cids
          ? say("share.forYou")
          : link.folder === "/"
            ? say("share.everything")
            : say("share.everythingIn", { folder: link.folder })}
      </h1>
      <p className="soft">
        <Say
          id={
            error
              ? "share.sharedBy"
              : link.token.expires === null
                ? "share.sharedToRead"
                : "share.sharedUntil"
          }
          values={{
            who: <span className="mono">{short(link.token.issuer, 16, 6)}</span>,
            when: ago((link.token.expires ?? 0) * 1000),
          }}
        />
      </p>
      <Problem error={error} />
      {!list && !error && <Skeleton lines={3} label={say("share.opening")} />}
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="folder" />
          <p>{say("share.nothing")}</p>
          <p className="soft small">{say("share.later")}</p>
        </div>
      )}
      {list && list.length > 0 && (
        <p className="soft small" role="status">
          {say("files.fileCount", { n: list.length })}
        </p>
      )}
      <ul className="plain shared">
        {list?.map((file) => (
          <li key={`${file.id} ${file.cid}`}>
            <button
              type="button"
              className="quiet name grow"
              aria-expanded={shown === file}
              onClick={() => setPicked(shown === file ? null : file)}
            >
              <Icon name={file.mimeType.startsWith("image/") ? "image" : "file"} />
              <span dir="auto">{link.cids ? file.name : file.path.slice(1)}</span>
              <span className="soft small nobreak">{bytes(file.size)}</span>
            </button>
            <button
              type="button"
              aria-label={say("share.downloadOne", { name: file.name })}
              onClick={() =>
                saving.run(() =>
                  load(file).then(
                    (blob) => saveAs(blob, file.name),
                    (cause: unknown) => Promise.reject(explained(cause)),
                  ),
                )
              }
            >
              <Icon name="download" /> <span className="wide-only">{say("files.download")}</span>
            </button>
            {shown === file && (
              <Preview
                name={file.name}
                mimeType={file.mimeType}
                size={file.size}
                load={(limit) => load(file, limit)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
