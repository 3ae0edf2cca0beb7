import { Fragment, type ReactNode } from "react";
import type { IComponentMetadata, MessageContent } from "../core/types";
import type { UIComponents } from "./useChat";

function own(components: UIComponents | undefined, name: string) {
  return components && Object.hasOwn(components, name) ? components[name] : undefined;
}

function renderComponent(
  part: IComponentMetadata,
  components: UIComponents | undefined,
): ReactNode {
  const { name, props } = part;
  const fallback = props.isAgAction
    ? (own(components, "AgActionToolCall") ?? own(components, "ToolCall"))
    : own(components, "ToolCall");
  const Component = own(components, name) ?? fallback;
  if (!Component) return null;
  const { id, args, ...rest } = props;
  const isLoading = props.status === "isRunning";
  const given = props.event === "render_component" ? { ...args } : { args };
  return <Component key={id} {...given} {...rest} id={id} isLoading={isLoading} />;
}

/** Turns stored content into React nodes. Text stays text: nothing in it is markup. */
export function renderMessageContent(
  content: MessageContent | undefined,
  uiComponents?: UIComponents,
): ReactNode {
  if (content === undefined || typeof content === "string") return content ?? null;
  if (!Array.isArray(content)) return renderComponent(content, uiComponents);
  return content.map((part, i) =>
    typeof part === "string" ? (
      <Fragment key={i}>{part}</Fragment>
    ) : (
      renderComponent(part, uiComponents)
    ),
  );
}
