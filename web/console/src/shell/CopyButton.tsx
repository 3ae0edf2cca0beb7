import { useState } from "react";
import { copyText } from "./clipboard";
import { messageOf } from "./format";
import { Icon } from "./icons";

/** Copies a text and says so. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState("");
  function copy() {
    copyText(text).then(
      () => setSaid("Copied"),
      (cause: unknown) => setSaid(messageOf(cause)),
    );
    setTimeout(() => setSaid(""), 1500);
  }
  return (
    <>
      <button type="button" className="quiet" aria-label={label} title={label} onClick={copy}>
        <Icon name={said === "Copied" ? "check" : "copy"} />
        {said && <span aria-hidden="true">{said}</span>}
      </button>
      <span role="status" className="visually-hidden">
        {said}
      </span>
    </>
  );
}
