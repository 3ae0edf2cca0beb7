import type { TurnError } from "./errors";
import type {
  IAttachment,
  ICitation,
  IComponentMetadata,
  IMessage,
  IToolCall,
  MessageContent,
  MessagePart,
  StoredMessage,
} from "./types";

/** Where the step begins that is being written: behind the calls of the one before. */
function stepOf(parts: MessagePart[]): number {
  return parts.findLastIndex((part) => part.type === "tool") + 1;
}

/**
 * Adds what was said or thought. In a step the thoughts come before the words, as
 * in the history, whichever the model sent first.
 */
export function write(
  parts: MessagePart[],
  type: "text" | "reasoning",
  text: string,
): MessagePart[] {
  if (text === "") return parts;
  const from = stepOf(parts);
  const at = parts.findIndex((part, i) => i >= from && part.type === type);
  const before = parts[at];
  if (before?.type === type) return replaced(parts, at, { type, text: before.text + text });
  return type === "text"
    ? [...parts, { type, text }]
    : [...parts.slice(0, from), { type, text }, ...parts.slice(from)];
}

function replaced(parts: MessagePart[], at: number, part: MessagePart): MessagePart[] {
  return parts.map((old, i) => (i === at ? part : old));
}

/** Puts a call behind what was said before it, or says what has become of it. */
export function withCall(parts: MessagePart[], call: IToolCall): MessagePart[] {
  const at = parts.findIndex((part) => part.type === "tool" && part.call.id === call.id);
  return at < 0 ? [...parts, { type: "tool", call }] : replaced(parts, at, { type: "tool", call });
}

/** Puts what an answer points to behind it, by number, each passage once. */
export function cite(parts: MessagePart[], all: ICitation[]): MessagePart[] {
  return all.reduce(
    (cited, citation) =>
      cited.some((part) => part.type === "citation" && part.citation.number === citation.number)
        ? cited
        : [...cited, { type: "citation", citation }],
    parts,
  );
}

/** Makes text what is said in all: the parts keep what they have of it. */
export function retell(parts: MessagePart[], text: string): MessagePart[] {
  let left = text;
  const kept = parts.flatMap((part): MessagePart[] => {
    if (part.type !== "text") return [part];
    const said = left.startsWith(part.text) ? part.text : part.text.startsWith(left) ? left : "";
    left = left.slice(said.length);
    return said === "" ? [] : [{ type: "text", text: said }];
  });
  return write(kept, "text", left);
}

/** What is said, or thought, in all. */
export function told(parts: MessagePart[], type: "text" | "reasoning"): string {
  return parts.map((part) => (part.type === type ? part.text : "")).join("");
}

export function callsOf(parts: MessagePart[]): IToolCall[] {
  return parts.flatMap((part) => (part.type === "tool" ? [part.call] : []));
}

/** What a call shows is a part behind it. */
export function withComponents(parts: MessagePart[]): MessagePart[] {
  return parts.flatMap((part): MessagePart[] => {
    if (part.type !== "tool" || !part.call.component) return [part];
    const { id, component } = part.call;
    return [part, { type: "component", component: shownPart(id, component) }];
  });
}

/** Files come behind what is said. */
export function withFiles(parts: MessagePart[], files: IAttachment[] = []): MessagePart[] {
  return [...parts, ...files.map((file): MessagePart => ({ type: "file", file }))];
}

/** The parts as components and text, which is how pages draw them. */
export function contentOf(
  parts: MessagePart[],
  isAction: (call: IToolCall) => boolean = () => false,
): MessageContent {
  const content = parts.flatMap((part): (string | IComponentMetadata)[] => {
    if (part.type === "text") return [part.text];
    if (part.type === "component") return [part.component];
    return part.type === "tool" ? [callPart(part.call, isAction(part.call))] : [];
  });
  const [only = ""] = content;
  return content.length < 2 && typeof only === "string" ? only : content;
}

/** A message of the history as a page sees it: the steps of a turn are one reply. */
export function fromStored(steps: StoredMessage[], id: string): IMessage {
  const [{ error, ...first }, last] = [steps[0], steps.at(-1)] as [StoredMessage, StoredMessage];
  if (error) return { ...first, id, ...failed(id, error) };
  let parts: MessagePart[] = [];
  for (const { content, reasoning = "", toolCalls = [] } of steps) {
    parts = write(write(parts, "reasoning", reasoning), "text", content);
    for (const call of toolCalls) parts = withCall(parts, asTold(call));
  }
  parts = cite(
    withComponents(parts),
    steps.flatMap((step) => step.citations ?? []),
  );
  parts = withFiles(parts, first.attachments ?? last.attachments);
  const calls = callsOf(parts);
  const reasoning = told(parts, "reasoning");
  return {
    ...last,
    ...first,
    id,
    content: contentOf(parts),
    parts,
    ...(last.isComplete === undefined ? {} : { isComplete: last.isComplete }),
    ...(reasoning ? { reasoning } : {}),
    ...(calls.length > 0 ? { toolCalls: calls } : {}),
  };
}

/** What is known of why a turn failed. */
export type Failure =
  Pick<TurnError, "message" | "kind" | "retryable"> | NonNullable<StoredMessage["error"]>;

/** What a failure is drawn by, in the message of that id; one that happens now is read out. */
export function failed(
  id: string,
  { message: text, kind, retryable }: Failure,
  isNow = false,
): Pick<IMessage, "content" | "parts"> {
  const of = {
    ...(kind === undefined ? {} : { kind }),
    ...(retryable === undefined ? {} : { retryable }),
  };
  return {
    content: {
      name: "Error",
      props: {
        id,
        args: { message: text },
        status: "error",
        error: text,
        event: "error",
        ...of,
        ...(isNow ? { isNow } : {}),
      },
    },
    parts: [{ type: "error", text, ...of }],
  };
}

/** Whether a message says why a turn failed. */
export function isFailure({ parts }: IMessage): boolean {
  return parts?.[0]?.type === "error";
}

/** The history has a call's output as JSON once more; a stream tells it as the model read it. */
function asTold(call: IToolCall): IToolCall {
  try {
    const output: unknown = JSON.parse(call.output ?? "0");
    return typeof output === "string" ? { ...call, output } : call;
  } catch {
    return call;
  }
}

/** The component of a stored call, as its render_component event showed it. */
function shownPart(
  callId: string,
  component: NonNullable<IToolCall["component"]>,
): IComponentMetadata {
  return {
    name: component.name,
    props: {
      id: `${callId}-component`,
      args: component.args ?? {},
      status: "done",
      event: "render_component",
    },
  };
}

function callPart(call: IToolCall, isAction: boolean): IComponentMetadata {
  const { id, name, args, status, output, error } = call;
  return {
    name,
    props: {
      id,
      args: record(args),
      status: status ?? "done",
      toolName: name,
      ...(output === undefined ? {} : { output }),
      ...(error === undefined ? {} : { error }),
      ...(isAction ? { isAgAction: true, actionName: name } : { isToolCall: true }),
    },
  };
}

export function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}
