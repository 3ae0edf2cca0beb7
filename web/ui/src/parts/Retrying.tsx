import { useLabels } from "../labels";
import { Passing } from "./Passing";

/**
 * Says that what could not be read is tried again by itself, and why: politely, since nobody has to
 * do anything. Who does not want to wait need not. It is gone when there is something to read.
 */
export function Retrying(props: { isOn: boolean; why: string; retry: () => Promise<void> }) {
  const labels = useLabels();
  return (
    <div className={props.isOn ? "castalia-notice castalia-row" : undefined}>
      <span role="status">{props.isOn && `${props.why} ${labels.retrying}`}</span>
      {props.isOn && (
        <Passing onClick={() => void props.retry().catch(() => undefined)}>
          {labels.retryNow}
        </Passing>
      )}
    </div>
  );
}
