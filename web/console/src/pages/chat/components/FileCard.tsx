import { bytes, short } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import type { FileRecord } from "../../files/api";

/** One of the user's files, as an answer shows it. */
export function FileCard(props: {
  path?: string;
  file?: FileRecord | undefined;
  isLoading?: boolean;
  error?: string | undefined;
}) {
  const { file } = props;
  const path = file?.path ?? props.path ?? "";
  if (props.error) return <p className="notice bad">{`${path}: ${props.error}`}</p>;
  const folder = path.split("/").slice(1, -1).join("/");
  return (
    <div className="card file-card" aria-busy={props.isLoading === true}>
      <Icon name={file?.mimeType.startsWith("image/") ? "image" : "file"} />
      <div>
        <strong>{path.split("/").at(-1)}</strong>
        <span className="soft small">
          {file
            ? `${bytes(file.size)} · version ${file.version} · ${short(file.cid)}`
            : props.isLoading
              ? "Looking…"
              : "A file of yours"}
        </span>
      </div>
      <Link className="button" to={`files/${folder}?open=${encodeURIComponent(path)}`}>
        Open
      </Link>
    </div>
  );
}
