import { Fragment, useContext, useSyncExternalStore, type ReactNode } from "react";
import type { AgAction } from "../core/tools";
import type { IComponentMetadata, MessageContent } from "../core/types";
import { Context } from "./context";
import type { UIComponents } from "./useChat";

function own(components: UIComponents | undefined, name: string) {
  return components && Object.hasOwn(components, name) ? components[name] : undefined;
}

/** The component that the page gave for a part, with what it is told. */
function renderComponent(
  part: IComponentMetadata,
  components: UIComponents | undefined,
): ReactNode {
  const { name, props } = part;
  const fallback = props.isAgAction
    ? (own(components, "AgActionToolCall") ?? own(components, "ToolCall"))
    : own(components, "ToolCall");
  const mine = own(components, name);
  const Component = mine ?? fallback;
  if (!Component) return null;
  const { id, args, ...rest } = props;
  const isLoading = props.status === "isRunning";
  // Who draws calls is told of a component that nobody knows as of a call.
  const isShown = props.event === "render_component";
  const given = !isShown ? { args } : mine ? { ...args } : { args, toolName: name };
  return <Component {...given} {...rest} id={id} isLoading={isLoading} />;
}

const none: ReadonlyMap<string, AgAction> = new Map();
const getNone = () => none;
const never = () => () => undefined;

/** A call: drawn by the action's own render while the action is offered. */
function CallPart({ part, components }: { part: IComponentMetadata; components?: UIComponents }) {
  const actions = useContext(Context)?.client.actions;
  const known = useSyncExternalStore(
    actions?.subscribe ?? never,
    actions?.get ?? getNone,
    actions?.get ?? getNone,
  );
  const render = known.get(part.name)?.render;
  if (!render) return renderComponent(part, components);
  const { status = "done", args, output, error } = part.props;
  const drawn = render({
    status,
    args,
    ...(output === undefined ? {} : { result: valueOf(output) }),
    ...(error === undefined ? {} : { error }),
  });
  return <>{drawn as ReactNode}</>;
}

/**
 * What a handler returned. A stream tells it as the model read it; the history
 * has that text as JSON once more.
 */
function valueOf(output: string, again = true): unknown {
  try {
    const value: unknown = JSON.parse(output);
    return again && typeof value === "string" ? valueOf(value, false) : value;
  } catch {
    return output;
  }
}

function renderPart(part: IComponentMetadata, components: UIComponents | undefined): ReactNode {
  const { id, isToolCall, isAgAction } = part.props;
  if (!isToolCall && !isAgAction) {
    return <Fragment key={id}>{renderComponent(part, components)}</Fragment>;
  }
  return <CallPart key={id} part={part} {...(components ? { components } : {})} />;
}

/**
 * Turns stored content into React nodes. Text stays text: nothing in it is
 * markup. Components are found by their own names only, so that a tool called
 * `constructor` is just a tool; what nobody draws is left out.
 */
export function renderMessageContent(
  content: MessageContent | undefined,
  uiComponents?: UIComponents,
): ReactNode {
  if (content === undefined || typeof content === "string") return content ?? null;
  if (!Array.isArray(content)) return renderPart(content, uiComponents);
  return content.map((part, i) =>
    typeof part === "string" ? <Fragment key={i}>{part}</Fragment> : renderPart(part, uiComponents),
  );
}
