import { useState } from "react";
import { loadKey } from "../../identity/vault";
import { once, useAsked, useDoing } from "../../shell/asked";
import { messageOf, plural, short, ago, bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Mark } from "../../shell/Shell";
import { saveAs } from "../../shell/save";
import { Skeleton } from "../../shell/Skeleton";
import { Files, FilesError, type CidRecord } from "../files/api";
import "../files/files.css";
import "./share.css";
import { Preview } from "../files/Preview";
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
          <h1>This link is not complete</h1>
          <p className="soft">
            {link.problem} Copy it again, with everything that follows the # sign.
          </p>
        </section>
      )}
    </main>
  );
}

function explained(cause: unknown): unknown {
  if (cause instanceof FilesError && (cause.status === 401 || cause.status === 403)) {
    return new Error(
      "This link is over: it has expired, was ended by whoever made it, or was used up.",
    );
  }
  return cause;
}

/** What the link leads to, with the way to read it. */
async function open(link: SharedLink, serviceDid: string) {
  const key = link.key ?? (await loadKey());
  if (!key || key.did !== link.token.audience) {
    throw new Error(
      `This link is for ${short(link.token.audience, 20, 6)} alone. Sign in with that key in this browser, then open it again.`,
    );
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
          ? "Files for you"
          : `Everything in ${link.folder === "/" ? "a file store" : link.folder}`}
      </h1>
      <p className="soft">
        Shared by <span className="mono">{short(link.token.issuer, 16, 6)}</span>
        {link.token.expires !== null && !error && `, ends ${ago(link.token.expires * 1000)}`}.
        {!error && " You can read this and nothing else."}
      </p>
      <Problem error={error} />
      {!list && !error && <Skeleton lines={3} label="Opening the link" />}
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="folder" />
          <p>Nothing is here yet.</p>
          <p className="soft small">Open the link again later.</p>
        </div>
      )}
      {list && list.length > 0 && (
        <p className="soft small" role="status">
          {plural(list.length, "file")}
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
              <span>{link.cids ? file.name : file.path.slice(1)}</span>
              <span className="soft small nobreak">{bytes(file.size)}</span>
            </button>
            <button
              type="button"
              aria-label={`Download ${file.name}`}
              onClick={() =>
                saving.run(() =>
                  load(file).then(
                    (blob) => saveAs(blob, file.name),
                    (cause: unknown) => Promise.reject(explained(cause)),
                  ),
                )
              }
            >
              <Icon name="download" /> <span className="wide-only">Download</span>
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
