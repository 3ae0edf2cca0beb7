import type { OracleEventPayloads } from "./events";
import { failed, withFiles, write, type Failure } from "./parts";
import { randomId } from "./random";
import type { IAttachment, IMessage, MessageContent } from "./types";

/** What the user says, as the page shows it until the history has it. */
export function humanMessage(content: MessageContent, attachments?: IAttachment[]): IMessage {
  return {
    id: randomId(),
    type: "human",
    content,
    parts: withFiles(write([], "text", typeof content === "string" ? content : ""), attachments),
    createdAt: isoNow(),
    ...(attachments?.length ? { attachments } : {}),
  };
}

/** What an error frame adds to the conversation. */
export function errorMessage(turnId: string, failure: Failure, createdAt: string): IMessage {
  const id = `${turnId}-error`;
  return { id, type: "ai", ...failed(id, failure, true), isComplete: true, createdAt };
}

/** What a component adds to the conversation that belongs to no call of the reply. */
export function componentMessage(
  shown: OracleEventPayloads["render_component"],
  createdAt: string,
): IMessage {
  const { componentName, args, status, eventId, requestId } = shown;
  const id = `${requestId}-render_component-${eventId ?? componentName}`;
  const component = {
    name: componentName,
    props: { id, args: args ?? {}, ...(status ? { status } : {}), event: "render_component" },
  };
  return {
    id,
    type: "ai",
    content: component,
    parts: [{ type: "component", component }],
    isComplete: true,
    createdAt,
  };
}

export function isoNow(): string {
  return new Date().toISOString();
}
