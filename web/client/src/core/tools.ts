import { asError } from "./errors";
import { jsonSchema, type SchemaLike } from "./schema";
import type { ToolCallStatus, ToolDeclaration } from "./types";

/** A tool that runs on the user's page. */
export interface BrowserTool {
  toolName: string;
  description: string;
  schema: unknown;
  fn: (args: never) => unknown;
}

export type BrowserTools = Record<string, BrowserTool>;

/** An AG-UI action. */
export interface AgAction {
  name: string;
  description: string;
  parameters: unknown;
  handler: (args: never) => unknown;
  hasRender: boolean;
  /** Draws the call; what it returns is for the page's framework to show. */
  render?: (props: ActionRenderProps) => unknown;
}

/** How far a call of an action is. */
export interface ActionRenderProps {
  status: ToolCallStatus;
  args: Record<string, unknown>;
  result?: unknown;
  error?: string;
}

/** The result of a call, as the socket takes it. */
export interface CallResult {
  result: unknown;
  error?: string;
}

export function declareTools(tools: BrowserTools | undefined): ToolDeclaration[] {
  return Object.values(tools ?? {}).map((tool) => ({
    name: tool.toolName,
    description: tool.description,
    schema: jsonSchema(tool.schema),
  }));
}

export function declareActions(actions: Iterable<AgAction>): ToolDeclaration[] {
  return [...actions].map((action) => ({
    name: action.name,
    description: action.description,
    schema: jsonSchema(action.parameters),
    ...(action.hasRender ? { hasRender: true } : {}),
  }));
}

function parsed(schema: unknown, args: unknown): unknown {
  const like = schema as Partial<SchemaLike> | null | undefined;
  return typeof like?.parse === "function" ? like.parse(args ?? {}) : (args ?? {});
}

/** Runs a browser tool with checked arguments. It never throws. */
export async function runTool(
  tools: BrowserTools | undefined,
  name: string,
  args: unknown,
): Promise<CallResult> {
  const tool = Object.values(tools ?? {}).find((t) => t.toolName === name);
  if (!tool) return { result: null, error: `Tool ${name} not found` };
  try {
    return { result: (await tool.fn(parsed(tool.schema, args) as never)) ?? null };
  } catch (cause) {
    return { result: null, error: asError(cause).message };
  }
}

/** Runs an action with checked arguments. It never throws. */
export async function runAction(
  action: AgAction | undefined,
  name: string,
  args: unknown,
): Promise<CallResult> {
  const failed = (error: string) => ({ result: { success: false, error }, error });
  if (!action) return failed(`Action tool ${name} not found`);
  try {
    return { result: (await action.handler(parsed(action.parameters, args) as never)) ?? null };
  } catch (cause) {
    return failed(asError(cause).message);
  }
}
