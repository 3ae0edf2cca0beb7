import { useEffect, useRef, useState } from "react";
import { bytes, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Skeleton } from "../../shell/Skeleton";
import type { DocumentLook } from "./api";
import { CellTable, DocumentView } from "./DocumentView";
import { kindOf, textShown, type Kind } from "./kinds";
import { readTable } from "./table";
import { say } from "../../words";

/** Lines of a text that are drawn; a file of nothing but ends of lines would stop the page. */
const linesShown = 5000;

/** What was loaded of a file. */
type Loaded = { text: string } | { address: string } | { look: DocumentLook };

/**
 * Who draws PDF. A frame of the browser's own viewer has no sandbox, since Chromium shows nothing
 * in one; it gets bytes that are called PDF whatever is in them, and the viewer keeps scripts of a
 * document to itself. A browser without one shows the text. Decision: ADR 0264.
 */
const hasViewer = () => navigator.pdfViewerEnabled;

/** A look into a file: texts with numbered lines, tables, pictures, sound, films and documents. */
export function Preview(props: {
  name: string;
  mimeType: string;
  size: number;
  /** Reads the file, or its first bytes. */
  load: (limit?: number) => Promise<Blob>;
  /** Reads what a document says, where the server is asked for that. */
  look?: () => Promise<DocumentLook>;
}) {
  const { name, size } = props;
  const kind = kindOf(props.mimeType, size, name);
  const [isRead, setRead] = useState(false);
  const asText = kind === "document" || (kind === "pdf" && (isRead || !hasViewer()));
  const shown = asText && !props.look ? undefined : kind;
  const { loaded, error } = useLoaded(shown, asText, props);
  if (error) {
    return (
      <p role="alert" className="notice bad">
        {error}
      </p>
    );
  }
  if (!shown) {
    return (
      <div className="preview no-preview">
        <Icon name="file" />
        <p className="soft small">{say("files.noPreview")}</p>
      </div>
    );
  }
  if (!loaded) return <Skeleton lines={3} label={say("files.loadingPreview")} />;
  const label = say("files.previewOf", { name });
  const note = "text" in loaded && size > textShown && (
    <p className="soft small">{say("files.beginning", { size: bytes(size) })}</p>
  );
  if ("look" in loaded) return <DocumentView look={loaded.look} name={name} />;
  if ("text" in loaded) {
    return (
      <>
        {kind === "table" ? (
          <TableText text={loaded.text} label={label} />
        ) : (
          <Lines text={loaded.text} label={label} />
        )}
        {note}
      </>
    );
  }
  const { address } = loaded;
  if (kind === "audio")
    return <audio className="preview-sound" controls src={address} aria-label={label} />;
  // What people say in films is not known here.
  if (kind === "video")
    return <video className="preview-image" controls src={address} aria-label={label} />;
  if (kind === "pdf") {
    return (
      <>
        <iframe className="preview-pdf" title={label} src={address} />
        {props.look && (
          <button type="button" className="quiet" onClick={() => setRead(true)}>
            <Icon name="file" /> {say("files.showAsText")}
          </button>
        )}
      </>
    );
  }
  return <img className="preview-image" src={address} alt={label} />;
}

function useLoaded(
  kind: Kind | undefined,
  asText: boolean,
  { load, look }: Pick<Parameters<typeof Preview>[0], "load" | "look">,
) {
  const [loaded, setLoaded] = useState<Loaded>();
  const [error, setError] = useState("");
  const sources = useRef({ load, look });
  useEffect(() => {
    if (!kind) return;
    let address = "";
    let isGone = false;
    async function read(): Promise<Loaded> {
      const { load, look } = sources.current;
      if (asText && look) return { look: await look() };
      if (kind === "text" || kind === "table") {
        return { text: await (await load(textShown)).text() };
      }
      const blob = await load();
      const safe = kind === "pdf" ? new Blob([blob], { type: "application/pdf" }) : blob;
      address = URL.createObjectURL(safe);
      return { address };
    }
    read().then(
      (found) => {
        if (!isGone) setLoaded(found);
        else if (address) URL.revokeObjectURL(address);
      },
      (cause: unknown) => {
        if (!isGone) setError(messageOf(cause));
      },
    );
    return () => {
      isGone = true;
      setLoaded(undefined);
      if (address) URL.revokeObjectURL(address);
    };
  }, [kind, asText]);
  return { loaded, error };
}

function Lines({ text, label }: { text: string; label: string }) {
  const lines = text.replace(/\n$/, "").split("\n", linesShown + 1);
  return (
    <div className="preview" role="region" aria-label={label} tabIndex={0}>
      <ol>
        {lines.slice(0, linesShown).map((line, i) => (
          <li key={i}>
            <code dir="auto">{line}</code>
          </li>
        ))}
      </ol>
      {lines.length > linesShown && <p className="soft small">{say("files.firstLines")}</p>}
    </div>
  );
}

function TableText({ text, label }: { text: string; label: string }) {
  const { rows, isCut } = readTable(text);
  return (
    <div className="preview document" role="region" aria-label={label} tabIndex={0}>
      <CellTable rows={rows} />
      {isCut && <p className="soft small">{say("files.firstRows")}</p>}
    </div>
  );
}
