import { bytes, short } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import type { FileRecord } from "../../files/api";
import { say } from "../../../words";

/** What an oracle says about a file, if it is a file's record. */
export function readRecord(value: unknown): FileRecord | undefined {
  const file = value as Partial<FileRecord> | null | undefined;
  return typeof file?.path === "string" &&
    typeof file.cid === "string" &&
    typeof file.mimeType === "string"
    ? (file as FileRecord)
    : undefined;
}

/** One of the user's files, as an answer shows it. */
export function FileCard(props: {
  path?: string;
  file?: unknown;
  isLoading?: boolean;
  error?: string | undefined;
}) {
  const file = readRecord(props.file);
  const path = file?.path ?? String(props.path ?? "");
  if (props.error)
    return (
      <p className="notice bad" dir="auto">
        {say("conversation.fileProblem", { path, problem: props.error })}
      </p>
    );
  const folder = path.split("/").slice(1, -1).join("/");
  return (
    <div className="card file-card" aria-busy={props.isLoading === true}>
      <Icon name={file?.mimeType.startsWith("image/") ? "image" : "file"} />
      <div>
        <strong dir="auto">{path.split("/").at(-1)}</strong>
        <span className="soft small">
          {file
            ? say("conversation.fileFacts", {
                size: bytes(file.size),
                version: String(file.version),
                cid: short(file.cid),
              })
            : props.isLoading
              ? say("conversation.looking")
              : say("conversation.yourFile")}
        </span>
      </div>
      <Link className="button" to={`files/${folder}?open=${encodeURIComponent(path)}`}>
        {say("conversation.open")}
      </Link>
    </div>
  );
}
