import { useEffect, type ReactNode } from "react";
import type { StandardLike } from "../core/schema";
import type { AgAction } from "../core/tools";
import type { ToolCallStatus } from "../core/types";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";

/** A zod schema of either major version. */
export interface ZodLike<Args> {
  parse(value: unknown): Args;
}

/** What render is given. The status done means that the result is ready. */
export interface AgActionRenderProps<Args, Output = unknown> {
  status: ToolCallStatus;
  /** As the oracle sent them: not parsed, and while it writes not complete. */
  args: Args;
  /** What the handler answered, as JSON carries it. */
  result?: Output;
  error?: string;
}

export interface UseAgActionOptions<Args, Output = unknown> {
  name: string;
  description: string;
  parameters: ZodLike<Args> | StandardLike<Args>;
  handler: (args: Args) => Promise<Output>;
  render?: ((props: AgActionRenderProps<Args, Output>) => ReactNode) | undefined;
}

/**
 * Offers an action to the oracle while the component is mounted. What render
 * returns is shown by renderMessageContent wherever the action was called.
 */
export function useAgAction<Args, Output = unknown>(
  options: UseAgActionOptions<Args, Output>,
): void {
  const { client } = useOraclesContext();
  const latest = useLatest(options);
  const { name } = options;
  const hasRender = options.render !== undefined;
  useEffect(() => {
    // Everything but the name is read when it is needed, so nothing is stale and
    // a schema that is made anew with every render registers nothing anew.
    const action: AgAction = {
      name,
      get description() {
        return latest.current.description;
      },
      get parameters() {
        return latest.current.parameters;
      },
      hasRender,
      handler: (args) => latest.current.handler(args),
      ...(hasRender
        ? { render: (props) => latest.current.render?.(props as AgActionRenderProps<Args, Output>) }
        : {}),
    };
    return client.registerAction(action);
  }, [client, latest, name, hasRender]);
}
