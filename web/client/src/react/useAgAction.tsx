import { useEffect, type ReactNode } from "react";
import type { AgAction } from "../core/tools";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";

/** A zod schema of either major version. */
export interface ZodLike<Args> {
  parse(value: unknown): Args;
}

export interface AgActionRenderProps<Args> {
  status: "isRunning" | "done" | "error";
  args: Args;
  result?: unknown;
  error?: string;
}

export interface UseAgActionOptions<Args> {
  name: string;
  description: string;
  parameters: ZodLike<Args>;
  handler: (args: Args) => Promise<unknown>;
  render?: (props: AgActionRenderProps<Args>) => ReactNode;
}

/** Offers an action to the oracle while the component is mounted. */
export function useAgAction<Args>(options: UseAgActionOptions<Args>): void {
  const { client } = useOraclesContext();
  const latest = useLatest(options);
  const { name, description, parameters } = options;
  const hasRender = options.render !== undefined;
  useEffect(() => {
    const action: AgAction & { render(props: AgActionRenderProps<unknown>): ReactNode } = {
      name,
      description,
      parameters,
      hasRender,
      handler: (args) => latest.current.handler(args),
      render: (props) => latest.current.render?.(props as AgActionRenderProps<Args>) ?? null,
    };
    return client.registerAction(action);
    // The schema's identity may change with every render; its text may not be
    // compared, so a new one under the same name replaces the old on the next
    // message.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [client, latest, name, description, hasRender]);
}
