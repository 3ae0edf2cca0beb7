import type { IMessage } from "@castalia/oracles-client";
import { useEffect, useState } from "react";
import { useLabels } from "../labels";
import { Hidden } from "../parts/Hidden";
import { spoken } from "./spoken";

/** Long enough to be picked up; then the log alone has it, and nothing is read twice. */
const lasting = 10_000;

/**
 * Tells screen readers that an answer is under way and, once it is whole, what
 * it says: read out while it streams, every word would interrupt the one before.
 * Why it failed is told at once; what failed before is history, and is not.
 */
export function Announcer(props: {
  messages: IMessage[];
  busy: boolean;
  isLoading: boolean;
  /** Why the last turn failed. */
  failure: string;
}) {
  const { messages, busy, isLoading, failure } = props;
  const labels = useLabels();
  const last = messages.at(-1);
  const isWhole = !busy && last?.type === "ai" && last.isComplete !== false;
  const answer = isWhole ? spoken(last, labels) : "";
  const [seen, setSeen] = useState({ isLoading, busy, answer });
  const [heard, setHeard] = useState(answer);
  const [text, setText] = useState("");
  const [alarm, setAlarm] = useState("");
  if (seen.isLoading !== isLoading || seen.busy !== busy || seen.answer !== answer) {
    setSeen({ isLoading, busy, answer });
    if (busy !== seen.busy) setAlarm(busy ? "" : failure);
    if (busy && !seen.busy) setText(labels.answering);
    if (answer && answer !== heard && !isLoading) {
      setHeard(answer);
      // What was said before this page was opened is history.
      if (!seen.isLoading) setText(labels.answered(answer));
    }
  }
  useEffect(() => {
    if (!text && !alarm) return;
    const timer = setTimeout(() => {
      setText("");
      setAlarm("");
    }, lasting);
    return () => clearTimeout(timer);
  }, [text, alarm]);
  return (
    <>
      <Hidden role="status">{text}</Hidden>
      {alarm && <Hidden role="alert">{alarm}</Hidden>}
    </>
  );
}
