import {
  renderMessageContent,
  type IAttachment,
  type IComponentMetadata,
  type IMessage,
  type UIComponents,
} from "@castalia/oracles-client";
import { memo, useRef, useState, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { Boundary } from "../../shell/Boundary";
import { bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Chart } from "./components/Chart";
import { EntityCard } from "./components/EntityCard";
import { FileCard } from "./components/FileCard";
import { Dots } from "./Dots";
import { Markdown } from "./Markdown";
import { AnswerTools, EditedQuestion, QuestionTools, type MessageActs } from "./MessageTools";

/** What the oracle may draw by name, and how its calls look. */
export const uiComponents: UIComponents = {
  Chart: (props: Record<string, unknown> & { isLoading?: boolean }) => (
    <Chart args={props} isLoading={props.isLoading === true} />
  ),
  FileCard: (props: { path?: string; file?: unknown; isLoading?: boolean }) => (
    <FileCard {...props} />
  ),
  EntityCard: (props: Record<string, unknown>) => <EntityCard {...props} />,
  Error: ({ error }: { error?: string }) => (
    <div className="notice bad" role="alert">
      {error ?? "Something went wrong."}
    </div>
  ),
  ToolCall: ToolCard,
};

/** Told to the oracle with each message: what it may draw here with `show_component`. */
export const drawable = { uiComponents: ["Chart", "FileCard"] };

/** One entry of the conversation. Finished ones are never drawn again. */
export const MessageView = memo(function MessageView(props: {
  message: IMessage;
  acts: MessageActs;
}) {
  const { message, acts } = props;
  return message.type === "human" ? (
    <Question message={message} acts={acts} />
  ) : (
    <Answer message={message} acts={acts} />
  );
});

function partsOf({ content }: IMessage): (string | IComponentMetadata)[] {
  return Array.isArray(content) ? content : [content];
}

function saidIn(message: IMessage): string {
  return partsOf(message)
    .filter((part): part is string => typeof part === "string")
    .join("\n\n");
}

function Question({ message, acts }: { message: IMessage; acts: MessageActs }) {
  const [isEdited, setEdited] = useState(false);
  const tools = useRef<HTMLElement>(null);
  const said = saidIn(message);
  function cancel() {
    // In one task: a key that is pressed meanwhile must not go to nobody.
    flushSync(() => setEdited(false));
    tools.current?.querySelector("button")?.focus();
  }
  return (
    <article ref={tools} className="message human">
      <h2 className="visually-hidden">You</h2>
      {isEdited ? (
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
          <div className="bubble">
            {said && <Said text={said} />}
            <Attached message={message} />
          </div>
          <QuestionTools version={message.version} onEdit={() => setEdited(true)} acts={acts} />
        </>
      )}
    </article>
  );
}

function Answer({ message, acts }: { message: IMessage; acts: MessageActs }) {
  const content = partsOf(message);
  const said = saidIn(message);
  return (
    <article className="message ai">
      <h2 className="visually-hidden">The oracle</h2>
      <Reasoning
        text={message.reasoning ?? ""}
        isGoingOn={message.isReasoning === true}
        isAnswering={content.some((part) => part !== "")}
      />
      {content.map((part, i) => (
        <Part key={typeof part === "string" ? i : part.props.id} part={part} />
      ))}
      <Attached message={message} />
      {said && message.isComplete !== false && (
        <AnswerTools message={message} said={said} acts={acts} />
      )}
    </article>
  );
}

function Attached({ message }: { message: IMessage }) {
  if (!message.attachments?.length) return null;
  return (
    <ul className="chips" aria-label="Attached files">
      {message.attachments.map((a, i) => (
        <AttachedFile key={i} file={a} />
      ))}
    </ul>
  );
}

/** What was said or done, where it was. */
function Part({ part }: { part: string | IComponentMetadata }) {
  if (typeof part !== "string") {
    return <Boundary>{renderMessageContent(part, uiComponents)}</Boundary>;
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
  if (!text) return null;
  if (isGoingOn && acknowledgement.test(text)) {
    return isAnswering ? null : (
      <p className="soft waiting">
        <Dots />
        {text.slice(0, -3)}
      </p>
    );
  }
  return (
    <details className="reasoning" open={isGoingOn}>
      <summary>{isGoingOn ? "Thinking…" : "How it thought"}</summary>
      <p>{text}</p>
    </details>
  );
}

const command = /^\/tool\s+(\S+)\s*(\{[\s\S]*\})?$/;

/** What the user said; a call by name shows its name, and what goes in on demand. */
function Said({ text }: { text: string }) {
  const [, name, args] = command.exec(text) ?? [];
  // What is too long is scrolled, and by the keyboard only what can be reached.
  const isLong = text.length > 400 || text.split("\n").length > 8;
  if (!name) return <p {...(isLong ? { tabIndex: 0 } : {})}>{text}</p>;
  return (
    <details className="command">
      <summary>
        <code>/tool {name}</code>
      </summary>
      <pre tabIndex={0}>{pretty(args)}</pre>
    </details>
  );
}

function AttachedFile({ file }: { file: IAttachment }): ReactNode {
  return (
    <li className="chip">
      <Icon name={file.mimetype.startsWith("image/") ? "image" : "file"} />
      <span className="chip-name">{file.filename}</span>
      {file.size !== undefined && <span className="small nowrap-text">{bytes(file.size)}</span>}
    </li>
  );
}

/** JSON with its indents, also when it came as a text in JSON. */
function pretty(text: string | undefined): string {
  if (!text) return "";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? pretty(value) : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

interface CallProps {
  toolName?: string;
  args?: Record<string, unknown>;
  status?: string;
  output?: string;
  error?: string;
  isLoading?: boolean;
}

/** A call with what went in and what came out, folded. */
function ToolCard({ toolName, args = {}, status, output, error, isLoading }: CallProps) {
  const mood = status === "error" ? "bad" : isLoading ? "busy" : "good";
  const brief = Object.values(args)
    .filter((v) => typeof v === "string" || typeof v === "number")
    .join(", ");
  return (
    <details className="tool">
      <summary>
        <span className={`dot ${mood}`} />
        <span className="mono">{toolName}</span>
        <span className="soft tool-brief">{brief}</span>
        <span className="soft small">
          {isLoading ? "running…" : status === "error" ? "failed" : "done"}
        </span>
      </summary>
      {Object.keys(args).length > 0 && (
        <>
          <h3 className="section-label">Asked</h3>
          <pre tabIndex={0}>{JSON.stringify(args, null, 2)}</pre>
        </>
      )}
      {(output ?? error) && (
        <>
          <h3 className="section-label">{error ? "Failed" : "Answered"}</h3>
          <pre tabIndex={0}>{pretty(output ?? error)}</pre>
        </>
      )}
    </details>
  );
}
