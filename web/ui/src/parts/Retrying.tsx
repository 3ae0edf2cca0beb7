import { useLayoutEffect, useRef } from "react";
import { useLabels } from "../labels";
import { Button } from "./Button";
import { focusEntry } from "./entry";

/**
 * Says that what could not be read is tried again by itself, and why: politely, since nobody has to
 * do anything. Who does not want to wait need not. It is gone when there is something to read.
 */
export function Retrying(props: { isOn: boolean; why: string; retry: () => Promise<void> }) {
  const labels = useLabels();
  return (
    <div className={props.isOn ? "castalia-notice castalia-row" : undefined}>
      <span role="status">{props.isOn && `${props.why} ${labels.retrying}`}</span>
      {props.isOn && <RetryNow retry={props.retry} />}
    </div>
  );
}

function RetryNow({ retry }: { retry: () => Promise<void> }) {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const mine = place.current;
    // It goes when the line is back; what is next is written below.
    return () => {
      if (mine?.contains(document.activeElement)) focusEntry();
    };
  }, []);
  return (
    <span ref={place}>
      <Button onClick={() => void retry().catch(() => undefined)}>{useLabels().retryNow}</Button>
    </span>
  );
}
