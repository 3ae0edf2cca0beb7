import type { IAttachment } from "@castalia/oracles-client";
import { Icon } from "./Icon";

/** The picture and the name of a file. */
export function FileName({ file }: { file: Pick<IAttachment, "filename" | "mimetype"> }) {
  return (
    <>
      <Icon name={file.mimetype.startsWith("image/") ? "image" : "file"} />
      <bdi className="castalia-chip-name">{file.filename}</bdi>
    </>
  );
}
