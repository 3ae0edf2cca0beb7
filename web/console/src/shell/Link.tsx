import type { ReactNode } from "react";
import { go, href } from "./router";

/** A link inside the console: no reload, but a real address. */
export function Link(props: {
  to: string;
  children: ReactNode;
  className?: string;
  current?: boolean;
  title?: string;
  /** Said instead of the content, when that is a drawing. */
  label?: string;
}) {
  return (
    <a
      href={href(props.to)}
      className={props.className}
      title={props.title}
      aria-label={props.label}
      aria-current={props.current ? "page" : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(props.to);
      }}
    >
      {props.children}
    </a>
  );
}
