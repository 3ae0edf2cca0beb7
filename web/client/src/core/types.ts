/** The user's wallet and Matrix session, as the host knows them. */
export interface IWallet {
  address: string;
  did: string;
  matrix: { accessToken: string; homeServer: string };
}

export type ToolCallStatus = "isRunning" | "done" | "error";

export interface IToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
  status?: ToolCallStatus;
  output?: string;
  error?: string;
  /** What the server asked pages to show beside the result; kept in the history. */
  component?: { name: string; args?: Record<string, unknown> };
}

/** A component inside a message: drawn by the host's uiComponents. */
export interface IComponentMetadata {
  name: string;
  props: {
    id: string;
    args: Record<string, unknown>;
    status?: ToolCallStatus;
    output?: string;
    error?: string;
    event?: string;
    payload?: Record<string, unknown>;
    isToolCall?: boolean;
    isAgAction?: boolean;
    toolName?: string;
    [key: string]: unknown;
  };
}

export type MessageContent = string | IComponentMetadata | (string | IComponentMetadata)[];

/**
 * A part of a message, in the order in which it came: the same while it streams,
 * after a reconnection and after a reload.
 */
export type MessagePart =
  | { type: "text" | "reasoning"; text: string }
  | { type: "tool"; call: IToolCall }
  /** What the oracle shows by name, behind the call that shows it. */
  | { type: "component"; component: IComponentMetadata }
  | { type: "file"; file: IAttachment }
  | { type: "citation"; citation: ICitation }
  /** Why the turn failed, as its `TurnError` says. */
  | { type: "error"; text: string; kind?: string; retryable?: boolean };

/** A passage of a document that an answer points to, as [1]. */
export interface ICitation {
  number: number;
  /** Names the passage, as `GET /knowledge/passages/{passage}` takes it. */
  passage: string;
  collection: string;
  collectionName?: string;
  document: string;
  title: string;
  /** The name of its file. */
  name?: string;
  page?: number;
  /** The headings above it, outermost first. */
  headings?: string[];
  /** What the model was shown of it. */
  text: string;
}

export interface IAttachment {
  filename: string;
  mimetype: string;
  size?: number;
  mxcUri?: string;
  eventId?: string;
  /** A file of the user's own store, by its content. */
  cid?: string;
}

/** Which of several versions of a turn is shown. It is told of the message that begins the turn. */
export interface IMessageVersion {
  /** Counted from one, oldest first. */
  number: number;
  count: number;
  /** Asked again as it was, or otherwise. */
  kind: "original" | "regenerated" | "edited";
  /** The messages that begin the versions, oldest first: `chooseVersion` shows one of them. */
  messageIds: string[];
}

/** What its reader thinks of an answer. */
export interface IFeedback {
  rating: "up" | "down";
  text?: string;
}

/** One entry of a conversation. */
export interface IMessage {
  id: string;
  type: "ai" | "human";
  content: MessageContent;
  /** What it is made of, in order. */
  parts?: MessagePart[];
  toolCalls?: IToolCall[];
  reasoning?: string;
  isComplete?: boolean;
  isReasoning?: boolean;
  createdAt?: string;
  attachment?: IAttachment;
  attachments?: IAttachment[];
  version?: IMessageVersion;
  feedback?: IFeedback;
}

export type ChatStatus = "submitted" | "streaming" | "ready" | "error";

export type RunStatus =
  "queued" | "running" | "recovering" | "finished" | "aborted" | "interrupted" | "failed";

export interface IRun {
  runId: string;
  status: RunStatus;
}

/** A message as the server keeps it. */
export interface StoredMessage {
  id: string;
  type: "ai" | "human";
  content: string;
  reasoning?: string;
  isComplete?: boolean;
  isReasoning?: boolean;
  createdAt?: string;
  toolCalls?: IToolCall[];
  citations?: ICitation[];
  attachment?: IAttachment;
  attachments?: IAttachment[];
  /** Why the turn ended without its answer; the content is then its text. */
  error?: { kind?: string; message: string; retryable?: boolean };
  version?: IMessageVersion;
  feedback?: IFeedback;
}

/** A declared tool or action, as the server takes it. */
export interface ToolDeclaration {
  name: string;
  description: string;
  schema: Record<string, unknown>;
  hasRender?: boolean;
}

/** A message that was not sent, for whoever writes in its conversation next. */
export interface IDraft {
  text: string;
  attachments?: IAttachment[];
  /** Why it was not sent. */
  error?: Error;
}
