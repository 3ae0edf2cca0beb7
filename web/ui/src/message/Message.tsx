import {
  renderMessageContent,
  type IComponentMetadata,
  type IMessage,
  type UIComponents,
} from "@castalia/oracles-client";
import { memo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useLabels } from "../labels";
import { Markdown } from "../markdown/Markdown";
import { FileName } from "../parts/Attached";
import { Boundary } from "../parts/Boundary";
import { Dots } from "../parts/Dots";
import { Citation } from "./Citation";
import { AnswerTools, EditedQuestion, QuestionTools, type MessageActs } from "./MessageTools";
import { pretty } from "./pretty";
import { ToolCard } from "./ToolCard";

export interface MessageProps {
  message: IMessage;
  /** What its reader can do with it; without, it can be read and copied. */
  acts?: MessageActs | undefined;
  /** What draws calls and what the oracle shows by name; calls are ToolCards otherwise. */
  components?: UIComponents | undefined;
}

/** One entry of a conversation. Finished ones are never drawn again. */
export const Message = memo(function Message({ message, acts, components }: MessageProps) {
  return message.type === "human" ? (
    <Question message={message} acts={acts} />
  ) : (
    <Answer message={message} acts={acts} components={{ ...ours, ...components }} />
  );
});

/** Why a turn failed. It is no alert: a conversation that is opened may have many, and Thread tells new ones. */
function Failure({ error }: { error?: string }) {
  const labels = useLabels();
  return <div className="castalia-notice castalia-bad">{error ?? labels.wrong}</div>;
}

/** What calls and errors are drawn with where a page says nothing else. */
const ours: UIComponents = { Error: Failure, ToolCall: ToolCard };

function partsOf({ content }: IMessage): (string | IComponentMetadata)[] {
  return Array.isArray(content) ? content : [content];
}

function saidIn(message: IMessage): string {
  return partsOf(message)
    .filter((part): part is string => typeof part === "string")
    .join("\n\n");
}

function Question({ message, acts }: { message: IMessage; acts: MessageActs | undefined }) {
  const [isEdited, setEdited] = useState(false);
  const tools = useRef<HTMLElement>(null);
  const labels = useLabels();
  const said = saidIn(message);
  function cancel() {
    // In one task: a key that is pressed meanwhile must not go to nobody.
    flushSync(() => setEdited(false));
    tools.current?.querySelector("button")?.focus();
  }
  return (
    <article ref={tools} className="castalia-message human">
      <h2 className="castalia-hidden">{labels.you}</h2>
      {isEdited && acts ? (
        <EditedQuestion
          text={said}
          onCancel={cancel}
          onSend={(text) => {
            setEdited(false);
            acts.edit(message.id, text);
          }}
        />
      ) : (
        <>
          <div className="castalia-bubble">
            {said && <Said text={said} />}
            <Attached message={message} />
          </div>
          {acts && (
            <QuestionTools version={message.version} onEdit={() => setEdited(true)} acts={acts} />
          )}
        </>
      )}
    </article>
  );
}

function Answer({ message, acts, components }: MessageProps & { components: UIComponents }) {
  const labels = useLabels();
  const content = partsOf(message);
  const said = saidIn(message);
  return (
    <article className="castalia-message ai">
      <h2 className="castalia-hidden">{labels.oracle}</h2>
      <Reasoning
        text={message.reasoning ?? ""}
        isGoingOn={message.isReasoning === true}
        isAnswering={content.some((part) => part !== "")}
      />
      {content.map((part, i) => (
        <Part
          key={typeof part === "string" ? i : part.props.id}
          part={part}
          components={components}
        />
      ))}
      <Sources message={message} />
      <Attached message={message} />
      {(said || hasFailed(message)) && message.isComplete !== false && (
        <AnswerTools message={message} said={said} acts={acts} />
      )}
    </article>
  );
}

/** It can be asked again, also by a page that did not see it fail. */
function hasFailed({ parts = [] }: IMessage) {
  return parts.some(({ type }) => type === "error");
}

/** The passages that an answer points to, folded below it. */
function Sources({ message }: { message: IMessage }) {
  const labels = useLabels();
  const all = (message.parts ?? []).filter((part) => part.type === "citation");
  if (all.length === 0) return null;
  return (
    <details className="castalia-sources">
      <summary>{labels.sources}</summary>
      {all.map(({ citation }) => (
        <Citation key={citation.number} {...citation} passage={citation.text} />
      ))}
    </details>
  );
}

function Attached({ message }: { message: IMessage }) {
  const labels = useLabels();
  if (!message.attachments?.length) return null;
  return (
    <ul className="castalia-chips" aria-label={labels.attachments}>
      {message.attachments.map((file, i) => (
        <li key={i} className="castalia-chip">
          <FileName file={file} />
          {file.size !== undefined && (
            <span className="castalia-size">{labels.size(file.size)}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** What was said or done, where it was. */
function Part(props: { part: string | IComponentMetadata; components: UIComponents }) {
  const { part, components } = props;
  if (typeof part !== "string") {
    return <Boundary>{renderMessageContent(part, components)}</Boundary>;
  }
  return part === "" ? null : <Markdown text={part} />;
}

/** Such as "Thinking...": said before there is a thought, and no more than that. */
const acknowledgement = /^[^.\n]{1,40}\.\.\.$/;

function Reasoning(props: {
  text: string;
  isGoingOn: boolean;
  /** There is something to see already. */
  isAnswering: boolean;
}) {
  const { text, isGoingOn, isAnswering } = props;
  const labels = useLabels();
  if (!text) return null;
  if (isGoingOn && acknowledgement.test(text)) {
    return isAnswering ? null : (
      <p className="castalia-soft castalia-waiting">
        <Dots />
        {text.slice(0, -3)}
      </p>
    );
  }
  return (
    <details className="castalia-reasoning" open={isGoingOn}>
      <summary>{isGoingOn ? labels.thinking : labels.thought}</summary>
      <p dir="auto">{text}</p>
    </details>
  );
}

const command = /^\/tool\s+(\S+)\s*(\{[\s\S]*\})?$/;

/** What the user said; a call by name shows its name, and what goes in on demand. */
function Said({ text }: { text: string }) {
  const [, name, args] = command.exec(text) ?? [];
  // What is too long is scrolled, and by the keyboard only what can be reached.
  const isLong = text.length > 400 || text.split("\n").length > 8;
  if (!name) {
    return (
      <p dir="auto" {...(isLong ? { tabIndex: 0 } : {})}>
        {text}
      </p>
    );
  }
  return (
    <details className="castalia-command">
      <summary>
        <code dir="ltr">/tool {name}</code>
      </summary>
      <pre dir="ltr" tabIndex={0}>
        {pretty(args)}
      </pre>
    </details>
  );
}
