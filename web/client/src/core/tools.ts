import { asError } from "./errors";
import { jsonSchema, type SchemaLike, type SchemaOutput, type StandardLike } from "./schema";
import type { IToolCall, ToolCallStatus, ToolDeclaration } from "./types";

/** A tool that runs on the user's page. */
export interface BrowserTool {
  toolName: string;
  description: string;
  schema: unknown;
  fn: (args: never) => unknown;
}

export type BrowserTools = Record<string, BrowserTool>;

/** What a tool is called with. */
export type ToolArgs<Tool> = Tool extends { fn: (args: infer Args) => unknown } ? Args : never;

/** What a tool answers. */
export type ToolOutput<Tool> = Tool extends { fn: (args: never) => infer Output }
  ? Awaited<Output>
  : never;

/** A call of a known tool. */
export interface KnownCall<Tool> {
  /** As the oracle sent them: not parsed, and while it writes not complete. */
  args: Partial<ToolArgs<Tool>>;
  /** There is none before the call is done. */
  output: ToolOutput<Tool> | undefined;
}

/** A tool whose function takes what its schema says: of zod 3 or 4, or any Standard Schema. */
export function defineTool<Schema, Output>(tool: {
  toolName: string;
  description: string;
  schema: Schema;
  fn: (args: SchemaOutput<Schema>) => Output;
}) {
  return tool;
}

/** Reads a call of a tool; of other tools' calls there is nothing to say. */
export function readCall<Tool extends BrowserTool>(
  tool: Tool | undefined,
  call: IToolCall,
): KnownCall<Tool> | undefined {
  if (call.name !== tool?.toolName) return undefined;
  let output: unknown = call.output;
  try {
    output = JSON.parse(call.output ?? "");
  } catch {
    // A text that is no JSON is itself.
  }
  const isDone = call.status !== "isRunning" && call.error === undefined;
  return { args: call.args, output: isDone ? output : undefined } as KnownCall<Tool>;
}

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

async function parsed(schema: unknown, given: unknown): Promise<never> {
  const args = given ?? {};
  const like = schema as Partial<SchemaLike & StandardLike<unknown>> | null | undefined;
  if (typeof like?.parse === "function") return like.parse(args) as never;
  const read = await like?.["~standard"]?.validate(args);
  if (read?.issues) throw new Error(read.issues.map(({ message }) => message).join("; "));
  return (read ? read.value : args) as never;
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
    return { result: (await tool.fn(await parsed(tool.schema, args))) ?? null };
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
    return { result: (await action.handler(await parsed(action.parameters, args))) ?? null };
  } catch (cause) {
    return failed(asError(cause).message);
  }
}
