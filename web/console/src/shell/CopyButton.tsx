import { useState } from "react";
import { Icon } from "./icons";

/** Copies a text and says so. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="quiet"
      aria-label={label}
      title={label}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), 1500);
        });
      }}
    >
      <Icon name="copy" />
      <span role="status">{copied ? "Copied" : ""}</span>
    </button>
  );
}
