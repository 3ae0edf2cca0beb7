import type { IFeedback, IMessage, IMessageVersion } from "@castalia/oracles-client";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { useLabels } from "../labels";
import { Button, IconButton } from "../parts/Button";
import { CopyButton } from "../parts/CopyButton";

/** What a reader can do with a message. The same object for as long as the conversation is. */
export interface MessageActs {
  regenerate: (messageId: string) => void;
  edit: (messageId: string, text: string) => void;
  choose: (messageId: string) => Promise<void>;
  rate: (messageId: string, rating: IFeedback["rating"] | null) => void;
}

/** What can be done with an answer. While another one is written, it can be copied. */
export function AnswerTools(props: {
  message: IMessage;
  said: string;
  acts: MessageActs | undefined;
}) {
  const { acts, said } = props;
  const labels = useLabels();
  const { id, feedback } = props.message;
  const rate = (rating: IFeedback["rating"]) =>
    acts?.rate(id, feedback?.rating === rating ? null : rating);
  return (
    <div className="castalia-message-tools">
      {said && <CopyButton text={said} label={labels.copyAnswer} />}
      {acts && (
        <span className="castalia-when-idle">
          <IconButton icon="restore" label={labels.askAgain} onClick={() => acts.regenerate(id)} />
          {said && <Ratings feedback={feedback} rate={rate} />}
        </span>
      )}
    </div>
  );
}

function Ratings(props: {
  feedback: IFeedback | undefined;
  rate: (rating: IFeedback["rating"]) => void;
}) {
  const labels = useLabels();
  const { feedback, rate } = props;
  return (
    <>
      <IconButton
        icon="good"
        label={labels.goodAnswer}
        aria-pressed={feedback?.rating === "up"}
        onClick={() => rate("up")}
      />
      <IconButton
        icon="bad"
        label={labels.badAnswer}
        aria-pressed={feedback?.rating === "down"}
        onClick={() => rate("down")}
      />
    </>
  );
}

/** What can be done with a question: asked otherwise, or seen as it was asked before. */
export function QuestionTools(props: {
  version: IMessageVersion | undefined;
  onEdit: () => void;
  acts: MessageActs;
}) {
  return (
    <div className="castalia-message-tools">
      <span className="castalia-when-idle">
        <IconButton icon="pencil" label={useLabels().editQuestion} onClick={props.onEdit} />
        {props.version && <Versions version={props.version} choose={props.acts.choose} />}
      </span>
    </div>
  );
}

function Versions(props: { version: IMessageVersion; choose: MessageActs["choose"] }) {
  const labels = useLabels();
  const { number, count, messageIds } = props.version;
  const root = messageIds[0] ?? "";
  async function step(by: -1 | 1) {
    const id = messageIds[number - 1 + by];
    if (id === undefined) return;
    await props.choose(id);
    // What is shown now is another message, with a switch of its own.
    requestAnimationFrame(() => {
      const all = document.querySelectorAll<HTMLButtonElement>("[data-castalia-versions] button");
      const mine = [...all].filter((b) => b.parentElement?.dataset["castaliaVersions"] === root);
      const wanted = mine[by < 0 ? 0 : 1];
      (wanted?.disabled ? mine.find((b) => !b.disabled) : wanted)?.focus();
    });
  }
  return (
    <span
      role="group"
      className="castalia-versions"
      aria-label={labels.version(number, count)}
      data-castalia-versions={root}
    >
      <IconButton
        icon="back"
        label={labels.earlierVersion}
        disabled={number <= 1}
        onClick={() => void step(-1)}
      />
      <span aria-hidden="true">
        {number} / {count}
      </span>
      <IconButton
        icon="next"
        label={labels.laterVersion}
        disabled={number >= count}
        onClick={() => void step(1)}
      />
    </span>
  );
}

/** A question that is being written anew, where it stands. */
export function EditedQuestion(props: {
  text: string;
  onSend: (text: string) => void;
  onCancel: () => void;
}) {
  const labels = useLabels();
  const [text, setText] = useState(props.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(props.text.length, props.text.length);
  }, [props.text]);
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (text.trim() !== "") props.onSend(text.trim());
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") props.onCancel();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  }
  return (
    <form className="castalia-edit" onSubmit={send}>
      <textarea
        ref={field}
        className="castalia-field"
        dir="auto"
        aria-label={labels.question}
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="castalia-row">
        <Button onClick={props.onCancel}>{labels.cancel}</Button>
        <Button type="submit" look="primary" disabled={text.trim() === ""}>
          {labels.ask}
        </Button>
      </div>
    </form>
  );
}
