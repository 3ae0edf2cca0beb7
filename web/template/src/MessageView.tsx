import type { IMessage, MessagePart } from "@castalia/oracles-client";
import { memo } from "react";

/** A message as it was said: its parts in their order, while it is written and after a reload. */
export const MessageView = memo(function MessageView({ message }: { message: IMessage }) {
  const { type, parts = [], attachments = [], version } = message;
  return (
    <article className={type}>
      {parts.map((part, i) => (
        <Part key={i} part={part} />
      ))}
      {attachments.map(({ filename }) => (
        <small key={filename}>Attached: {filename}</small>
      ))}
      {version && version.count > 1 && (
        <small>
          Version {version.number} of {version.count}
        </small>
      )}
    </article>
  );
});

function Part({ part }: { part: MessagePart }) {
  switch (part.type) {
    case "text":
      return <p>{part.text}</p>;
    case "reasoning":
      return (
        <details>
          <summary>Thoughts</summary>
          {part.text}
        </details>
      );
    case "tool":
      return (
        <p>
          <code>{part.call.name}</code> {part.call.status === "isRunning" ? "…" : part.call.error}
        </p>
      );
    case "error":
      return <p className="failed">{part.text}</p>;
  }
}
