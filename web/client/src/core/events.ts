import type { ToolCallStatus } from "./types";

/** What every event that concerns a turn carries. */
export interface EventAddress {
  sessionId: string;
  requestId: string;
}

/** Payloads of the server's events, by name. */
export interface OracleEventPayloads {
  connected: { message: string; sessionId: string; timestamp: string };
  pong: { timestamp: string; sessionId: string };
  status: {
    connected: boolean;
    sessionId: string;
    activeSessions: number;
    totalConnections: number;
    timestamp: string;
  };
  subscribed: { sessionId: string; timestamp: string };
  "available-events": {
    clientEvents: string[];
    serverEvents: string[];
    sessionId: string;
    timestamp: string;
  };
  tool_call: EventAddress & {
    toolName: string;
    args?: Record<string, unknown>;
    status?: ToolCallStatus;
    eventId?: string;
    output?: string;
    error?: string;
  };
  action_call: EventAddress & {
    toolCallId: string;
    toolName: string;
    args?: Record<string, unknown>;
    status?: ToolCallStatus;
    output?: string;
    error?: string;
  };
  render_component: EventAddress & {
    componentName: string;
    args?: Record<string, unknown>;
    status?: ToolCallStatus;
    eventId?: string;
  };
  browser_tool_call: EventAddress & {
    toolCallId: string;
    toolName: string;
    args?: Record<string, unknown>;
  };
  router_update: EventAddress & { step: string };
  message_cache_invalidation: EventAddress & {
    status?: string;
    /** The session's new title, when that is what changed. */
    title?: string;
    /** The turn of this request is over. */
    ended?: boolean;
  };
  run_started: EventAddress & {
    runId: string;
    /** The page that sent the message, if it named itself. */
    tabId?: string;
  };
  /** Calls wait for the user: `useApprovals` of the entry approvals shows them. */
  approval_required: EventAddress & { runId: string; approvals: unknown[]; timestamp: string };
  approval_answered: EventAddress & {
    runId: string;
    approvalId: string;
    toolCallId: string;
    toolName: string;
    decision: "approve" | "deny" | "expired" | "withdrawn";
    timestamp: string;
  };
}

export type OracleEventName = keyof OracleEventPayloads;

/** Every server event, told apart by eventName. */
export type OracleEvent = {
  [Name in OracleEventName]: { eventName: Name; payload: OracleEventPayloads[Name] };
}[OracleEventName];

/** The names, for catch-all listeners; as one text, which is shorter. */
export const oracleEventNames = (
  "connected pong status subscribed available-events tool_call action_call render_component " +
  "browser_tool_call router_update message_cache_invalidation run_started approval_required " +
  "approval_answered"
).split(" ") as readonly OracleEventName[];

/**
 * Reads an event in any of its wire forms: the bare payload under its own name,
 * or an object that carries eventName and payload. Undefined when it is neither.
 */
export function readOracleEvent(name: string, argument: unknown): OracleEvent | undefined {
  if (argument === null || typeof argument !== "object") return undefined;
  const record = argument as Record<string, unknown>;
  const enveloped =
    typeof record["eventName"] === "string" &&
    record["payload"] !== null &&
    typeof record["payload"] === "object";
  const eventName = enveloped ? (record["eventName"] as string) : name;
  if (!oracleEventNames.includes(eventName as OracleEventName)) return undefined;
  return { eventName, payload: enveloped ? record["payload"] : record } as OracleEvent;
}
