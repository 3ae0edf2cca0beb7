import type { ReactNode } from "react";

/** Something that can be switched on, and what it means. */
export function Choice(props: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  title: string;
  text: ReactNode;
}) {
  return (
    <label className="choice consent">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.target.checked)}
      />
      <span>
        <strong>{props.title}</strong>
        <br />
        {props.text}
      </span>
    </label>
  );
}
