import { useEffect, useRef, useState } from "react";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Skeleton } from "../../shell/Skeleton";

const textLimit = 256 * 1024;
const imageLimit = 16 * 1024 * 1024;

/** What a browser draws without running anything; SVG is shown as its text. */
export function kindOf(mimeType: string, size: number): "text" | "image" | undefined {
  const type = mimeType.split(";")[0]?.trim() ?? "";
  if (/^image\/(png|jpeg|gif|webp|avif)$/.test(type)) {
    return size <= imageLimit ? "image" : undefined;
  }
  const isText =
    type.startsWith("text/") ||
    /^(application\/(json|xml|yaml|x-yaml|toml)|image\/svg\+xml)$/.test(type);
  return isText && size <= textLimit ? "text" : undefined;
}

/** A look into a file: texts with numbered lines, and pictures. */
export function Preview(props: {
  name: string;
  mimeType: string;
  size: number;
  load: () => Promise<Blob>;
}) {
  const { name } = props;
  const kind = kindOf(props.mimeType, props.size);
  const [text, setText] = useState<string>();
  const [image, setImage] = useState<string>();
  const [error, setError] = useState("");
  const load = useRef(props.load);
  useEffect(() => {
    if (!kind) return;
    let address: string | undefined;
    let gone = false;
    load.current().then(
      async (blob) => {
        if (gone) return;
        if (kind === "text") {
          const read = await blob.text();
          if (!gone) setText(read);
        } else {
          address = URL.createObjectURL(blob);
          setImage(address);
        }
      },
      (cause: unknown) => setError(messageOf(cause)),
    );
    return () => {
      gone = true;
      if (address) URL.revokeObjectURL(address);
    };
  }, [kind]);
  if (error) {
    return (
      <p role="alert" className="notice bad">
        {error}
      </p>
    );
  }
  if (!kind) {
    return (
      <div className="preview no-preview">
        <Icon name="file" />
        <p className="soft small">No preview for files of this kind or size.</p>
      </div>
    );
  }
  if (image) return <img className="preview-image" src={image} alt={`Preview of ${name}`} />;
  if (text === undefined) return <Skeleton lines={3} label="Loading the preview" />;
  return (
    <div className="preview" role="region" aria-label={`Preview of ${name}`} tabIndex={0}>
      <ol>
        {text
          .replace(/\n$/, "")
          .split("\n")
          .map((line, i) => (
            <li key={i}>
              <code>{line}</code>
            </li>
          ))}
      </ol>
    </div>
  );
}
