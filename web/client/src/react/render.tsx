import {
  Fragment,
  useContext,
  useSyncExternalStore,
  type ComponentType,
  type ReactNode,
} from "react";
import type { Observable } from "../core/observable";
import type { IComponentMetadata, MessageContent } from "../core/types";
import { Context } from "./context";
import type { UIComponents } from "./useChat";

type Find = (name: string) => ComponentType<Record<string, unknown>> | undefined;

/** The component that the page gave for a part, with what it is told. */
function renderComponent(part: IComponentMetadata, find: Find): ReactNode {
  const { name, props } = part;
  const mine = find(name);
  if (!mine && props.event === "error") {
    // What failed before this page was opened is history.
    return <span role={props["isNow"] ? "alert" : undefined}>{props.error}</span>;
  }
  const Component =
    mine ?? (props.isAgAction ? find("AgActionToolCall") : undefined) ?? find("ToolCall");
  if (!Component) return null;
  const { id, args, ...rest } = props;
  const isLoading = props.status === "isRunning";
  // Who draws calls is told of a component that nobody knows as of a call.
  const isShown = props.event === "render_component";
  const given = !isShown ? { args } : mine ? { ...args } : { args, toolName: name };
  return <Component {...given} {...rest} id={id} isLoading={isLoading} />;
}

const never = () => () => undefined;
const getNothing = () => undefined;

/** What is observed, if there is anything to observe. */
function useObserved<T>(from: Observable<T> | undefined): T | undefined {
  return useSyncExternalStore<T | undefined>(
    from?.subscribe ?? never,
    from?.get ?? getNothing,
    from?.get ?? getNothing,
  );
}

/** A part: a call is drawn by its action's own render while the action is offered. */
function Part({ part, given }: { part: IComponentMetadata; given: UIComponents | undefined }) {
  const client = useContext(Context)?.client;
  const actions = useObserved(client?.actions);
  const offered = useObserved(client?.components);
  const { status = "done", args, output, error, isToolCall, isAgAction } = part.props;
  const render = isToolCall || isAgAction ? actions?.get(part.name)?.render : undefined;
  if (!render) {
    const maps = [...(offered?.values() ?? []), given ?? {}];
    return renderComponent(
      part,
      (name) => maps.findLast((map) => Object.hasOwn(map, name))?.[name] as ReturnType<Find>,
    );
  }
  const drawn = render({
    status,
    args,
    ...(output === undefined ? {} : { result: valueOf(output) }),
    ...(error === undefined ? {} : { error }),
  });
  return <>{drawn as ReactNode}</>;
}

/** What a handler returned, as far as it is JSON. */
function valueOf(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    return output;
  }
}

function renderPart(part: IComponentMetadata, given: UIComponents | undefined): ReactNode {
  return <Part key={part.props.id} part={part} given={given} />;
}

/**
 * Turns stored content into React nodes. Text stays text: nothing in it is
 * markup. Components are those given here, else those that a useChat on the
 * page was given. They are found by their own names only, so that a tool called
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
