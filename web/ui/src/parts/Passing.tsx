import { useLayoutEffect, useRef, type ReactNode } from "react";
import { Button } from "./Button";
import { focusEntry } from "./entry";

/** A button that goes by itself. Whoever is on it then is where the next message is written. */
export function Passing(props: { onClick: () => void; children: ReactNode }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const mine = place.current;
    return () => {
      if (mine?.contains(document.activeElement)) focusEntry();
    };
  }, []);
  return (
    <span ref={place}>
      <Button {...props} />
    </span>
  );
}
