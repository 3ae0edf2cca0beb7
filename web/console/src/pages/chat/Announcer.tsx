import type { IMessage } from "@castalia/oracles-client";
import { useEffect, useState } from "react";
import { spoken } from "./spoken";

/** Long enough to be picked up; then the log alone has it, and nothing is read twice. */
const lasting = 10_000;

/**
 * Tells screen readers that an answer is under way and, once it is whole, what
 * it says: read out while it streams, every word would interrupt the one before.
 */
export function Announcer(props: { messages: IMessage[]; busy: boolean; isLoading: boolean }) {
  const { messages, busy, isLoading } = props;
  const last = messages.at(-1);
  const isWhole = !busy && last?.type === "ai" && last.isComplete !== false;
  const answer = isWhole ? spoken(last) : "";
  const [seen, setSeen] = useState({ isLoading, busy, answer });
  const [heard, setHeard] = useState(answer);
  const [text, setText] = useState("");
  if (seen.isLoading !== isLoading || seen.busy !== busy || seen.answer !== answer) {
    setSeen({ isLoading, busy, answer });
    if (busy && !seen.busy) setText("The oracle is answering.");
    if (answer && answer !== heard && !isLoading) {
      setHeard(answer);
      // What was said before this page was opened is history.
      if (!seen.isLoading) setText(`The oracle: ${answer}`);
    }
  }
  useEffect(() => {
    if (!text) return;
    const timer = setTimeout(() => setText(""), lasting);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <p className="visually-hidden" role="status">
      {text}
    </p>
  );
}
