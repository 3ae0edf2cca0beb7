import { useEffect, useRef, useState } from "react";
import { useSession, namespace } from "../../identity/session";
import { inSeconds, issue } from "../../identity/ucan";
import { CopyButton } from "../../shell/CopyButton";
import { Icon } from "../../shell/icons";
import type { FileRecord, Files, VersionRecord } from "./api";

const previewLimit = 256 * 1024;

/** One file: a preview, its versions, and how to share it. */
export function FileDetails(props: {
  file: FileRecord;
  files: Files;
  onClose: () => void;
  onChanged: () => void;
}) {
  const { file, files } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [preview, setPreview] = useState<{ text?: string; image?: string }>();
  const [versions, setVersions] = useState<VersionRecord[]>([]);
  const [error, setError] = useState("");
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    let image: string | undefined;
    let gone = false;
    const fail = (cause: unknown) =>
      setError(cause instanceof Error ? cause.message : String(cause));
    files.versions(file.id).then((all) => {
      if (!gone) setVersions(all);
    }, fail);
    if (file.size <= previewLimit) {
      files.content(file.id).then(async (blob) => {
        if (gone) return;
        if (/^image\/(png|jpeg|gif|webp)$/.test(file.mimeType)) {
          image = URL.createObjectURL(blob);
          setPreview({ image });
        } else if (/^(text\/|application\/json)/.test(file.mimeType)) {
          setPreview({ text: await blob.text() });
        }
      }, fail);
    }
    return () => {
      gone = true;
      if (image) URL.revokeObjectURL(image);
    };
  }, [file, files]);

  async function download() {
    const address = URL.createObjectURL(await files.content(file.id));
    const link = document.createElement("a");
    link.href = address;
    link.download = file.name;
    link.click();
    URL.revokeObjectURL(address);
  }
  async function restore(version: number) {
    await files.post(`/files/${file.id}/versions/${version}/restore`);
    setVersions(await files.versions(file.id));
    props.onChanged();
  }
  return (
    <dialog
      ref={dialog}
      className="card details"
      onClose={props.onClose}
      aria-labelledby="file-name"
    >
      <div className="row spread">
        <h2 id="file-name">{file.path.slice(1)}</h2>
        <div className="row">
          <button type="button" onClick={() => void download()}>
            <Icon name="download" /> Download
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </div>
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
      {preview?.text !== undefined && <pre className="preview">{preview.text}</pre>}
      {preview?.image && <img src={preview.image} alt={`Preview of ${file.name}`} />}
      <h2>Versions</h2>
      <ul className="plain">
        {versions.map((v) => (
          <li key={v.version} className="row spread">
            <span>
              <Icon name="clock" /> {v.version} · {new Date(v.createdAt).toLocaleString()}
            </span>
            {v.version !== file.version && (
              <button type="button" onClick={() => void restore(v.version)}>
                Restore
              </button>
            )}
          </li>
        ))}
      </ul>
      <ShareForm file={file} />
    </dialog>
  );
}

/** Mints a delegation limited to this content and shows what it grants. */
function ShareForm({ file }: { file: FileRecord }) {
  const session = useSession();
  const [to, setTo] = useState("");
  const [hours, setHours] = useState(24);
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        try {
          setToken(
            issue(session.key, {
              audience: to.trim(),
              expires: inSeconds(hours * 3600),
              capabilities: [
                { can: "fs/read", with: namespace(session.key.did), nb: { cids: [file.cid] } },
              ],
            }),
          );
          setError("");
        } catch (cause) {
          setError(cause instanceof Error ? cause.message : String(cause));
        }
      }}
    >
      <h2>Share</h2>
      <p className="soft">
        Lets one DID read exactly this content, whatever happens to the path, and nothing else.
      </p>
      <label>
        Reader&apos;s DID
        <input value={to} placeholder="did:key:…" onChange={(event) => setTo(event.target.value)} />
      </label>
      <label>
        For how many hours
        <input
          type="number"
          min={1}
          max={8760}
          value={hours}
          onChange={(event) => setHours(Number(event.target.value))}
        />
      </label>
      <button type="submit" disabled={!to.trim()}>
        <Icon name="share" /> Make a delegation
      </button>
      {error && <p className="bad">{error}</p>}
      {token && (
        <div className="notice">
          <p>
            Grants <code>fs/read</code> on <code>{file.cid.slice(0, 14)}…</code> to{" "}
            <code>{to.slice(0, 24)}…</code> for {hours} hours.
          </p>
          <pre className="token">{token}</pre>
          <CopyButton text={token} label="Copy the delegation" />
        </div>
      )}
    </form>
  );
}
