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

/** The button for the next page of a list, while there is one. */
export function ShowMore(props: {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  label: string;
}) {
  const { list, label } = props;
  if (!list.hasNextPage) return null;
  return (
    <p>
      <button
        type="button"
        disabled={list.isFetchingNextPage}
        onClick={() => void list.fetchNextPage()}
      >
        {label}
      </button>
    </p>
  );
}
