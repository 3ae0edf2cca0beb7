import type { ReactNode } from "react";

/** A number with its name. */
export function Figure(props: { label: string; value: ReactNode; mood?: "good" | "bad" }) {
  return (
    <div className="figure">
      <dt>{props.label}</dt>
      <dd className={props.mood}>{props.value}</dd>
    </div>
  );
}

/** What is typed as it stands, in any language: a tag of messages. */
export function code(text: ReactNode) {
  return <code dir="ltr">{text}</code>;
}
