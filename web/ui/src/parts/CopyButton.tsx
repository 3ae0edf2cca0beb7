import { useState } from "react";
import { messageOf, useLabels } from "../labels";
import { Button } from "./Button";
import { copyText } from "./clipboard";
import { Icon } from "./Icon";

export interface CopyButtonProps {
  text: string;
  /** What the button is called; "Copy" otherwise. */
  label?: string;
}

/** Copies a text and says so. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const labels = useLabels();
  const [said, setSaid] = useState("");
  function copy() {
    copyText(text).then(
      (isCopied) => setSaid(isCopied ? labels.copied : labels.cannotCopy),
      (cause: unknown) => setSaid(messageOf(cause, labels)),
    );
    setTimeout(() => setSaid(""), 1500);
  }
  const name = label ?? labels.copy;
  return (
    <>
      <Button look="quiet" aria-label={name} title={name} onClick={copy}>
        <Icon name={said === labels.copied ? "check" : "copy"} />
        {said && <span aria-hidden="true">{said}</span>}
      </Button>
      <span role="status" className="castalia-hidden">
        {said}
      </span>
    </>
  );
}
