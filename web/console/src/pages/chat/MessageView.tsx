import type { IMessage, IToolCall } from "@castalia/oracles-client";
import { memo } from "react";
import { Markdown } from "./Markdown";

/** One entry of the conversation. Finished ones are never drawn again. */
export const MessageView = memo(function MessageView({ message }: { message: IMessage }) {
  const content = Array.isArray(message.content) ? message.content : [message.content];
  // Calls have their cards above.
  const parts = content.filter(
    (part) => typeof part === "string" || !(part.props.isToolCall || part.props.isAgAction),
  );
  return (
    <article className={`message ${message.type}`}>
      <h2 className="visually-hidden">{message.type === "human" ? "You" : "The oracle"}</h2>
      {message.reasoning && (
        <details className="reasoning" open={message.isReasoning === true}>
          <summary>{message.isReasoning ? "Thinking…" : "How it thought"}</summary>
          <p className="soft">{message.reasoning}</p>
        </details>
      )}
      {message.toolCalls?.map((call) => (
        <ToolCard key={call.id} call={call} />
      ))}
      {parts.map((part, i) =>
        typeof part === "string" ? (
          message.type === "human" ? (
            <p key={i}>{part}</p>
          ) : (
            <Markdown key={i} text={part} />
          )
        ) : (
          <div key={part.props.id} className="notice bad" role="alert">
            {part.props.error ?? part.name}
          </div>
        ),
      )}
    </article>
  );
});

function pretty(text: string | undefined): string {
  if (!text) return "";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}

function ToolCard({ call }: { call: IToolCall }) {
  const running = call.status === "isRunning";
  return (
    <details className="tool">
      <summary>
        <span className={call.status === "error" ? "dot bad" : running ? "dot busy" : "dot good"} />
        <span className="mono">{call.name}</span>
        <span className="soft">{running ? "running" : (call.status ?? "done")}</span>
      </summary>
      {Object.keys(call.args).length > 0 && <pre>{JSON.stringify(call.args, null, 2)}</pre>}
      {(call.output ?? call.error) && <pre>{pretty(call.output ?? call.error)}</pre>}
    </details>
  );
}
