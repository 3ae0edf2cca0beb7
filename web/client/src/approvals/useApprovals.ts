import { useCallback, useEffect, useMemo } from "react";
import type { OracleOverrides } from "../core/config";
import { RequestError } from "../core/errors";
import { known } from "../files/bearer";
import { useOraclesContext } from "../react/context";
import { silentPage } from "../react/silent";
import { useLoaded } from "../react/useLoaded";
import { useOraclesConfig } from "../react/useOraclesConfig";
import { useResource } from "../react/useResource";

/** What a tool asks the user for, in the course of its call. */
export interface IApprovalQuestion {
  /** Who asks; the message is in their words. */
  from?: string;
  message: string;
  /** A JSON Schema of an object: texts, numbers, yes or no, and choices. */
  form: { type: "object"; properties: Record<string, IFormField>; required?: string[] };
}

/** One thing that is asked for. */
export interface IFormField {
  type: "string" | "number" | "integer" | "boolean" | "array";
  title?: string;
  description?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  enum?: string[];
  enumNames?: string[];
  oneOf?: { const: string; title?: string }[];
  items?: { enum?: string[]; anyOf?: { const: string; title?: string }[] };
  minItems?: number;
  maxItems?: number;
  default?: unknown;
}

/** A call that waits for the user. */
export interface IApproval {
  id: string;
  runId: string;
  sessionId: string;
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  /**
   * Why it waits: its tool is marked so, the operator wants people to be asked, the
   * turn has read text of strangers that may give orders, or it needs a delegation.
   * The answer to that is POST /delegation, or to deny it. "input" asks for more than a
   * yes: see question.
   */
  reason: "confirm" | "operator" | "untrusted" | "delegation" | "input";
  /** What the tool asks the user for; approve with what fits its form. */
  question?: IApprovalQuestion;
  createdAt: string;
  expiresAt: string;
  /** An expired one was not run. It is shown until the next turn begins. */
  state: "waiting" | "answering" | "expired";
}

export interface UseApprovalsOptions {
  oracleDid: string;
  sessionId: string;
  overrides?: OracleOverrides;
}

export interface UseApprovalsResult {
  approvals: IApproval[];
  /** Lets the call run, with what its question asks for. Rejects when the answer did not arrive; then it waits as before. */
  approve: (id: string, content?: Record<string, unknown>) => Promise<void>;
  /** Refuses the call; the oracle is told so and goes on. */
  deny: (id: string) => Promise<void>;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

type Decision = "approve" | "deny" | "expired" | "withdrawn";

/** What the oracle does not say: how far the answer is. */
type Told = Omit<IApproval, "state">;

const none: IApproval[] = [];

/**
 * What waits for the user in a session: after a reload too, and until it is
 * answered here, in another tab or anywhere else.
 */
export function useApprovals(options: UseApprovalsOptions): UseApprovalsResult {
  const { client } = useOraclesContext();
  const { oracleDid, sessionId } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const wsUrl = config.isReady ? config.socketUrl : null;
  const api = client.api(baseUrl ?? "", oracleDid);
  const key = baseUrl && sessionId ? ["approvals", baseUrl, oracleDid, sessionId].join(" ") : null;
  const { data, error, isLoading, reload, refetch, update } = useResource<IApproval[]>(
    key,
    async (before = none) => {
      const path = `/approvals?sessionId=${encodeURIComponent(sessionId)}`;
      const { approvals } = await api.json<{ approvals: Told[] }>(path);
      return merged(before, approvals);
    },
  );

  const isLoaded = useLoaded(client);
  useEffect(() => {
    if (!isLoaded || !baseUrl || !wsUrl || !sessionId) return;
    const { open, release } = client.join({ oracleDid, sessionId, baseUrl, wsUrl }, silentPage());
    const { line } = open.socket;
    const hear: Record<string, (payload: never) => void> = {
      approval_required: ({ approvals }: { approvals: Told[] }) =>
        update((known = none) => [...waiting(known), ...fresh(known, approvals)]),
      approval_answered: (told: { approvalId: string; decision: Decision }) =>
        update((known) => known && settled(known, told.approvalId, told.decision)),
      // What was too late is history with the next turn.
      run_started: () => update((known) => known && waiting(known)),
      // A turn that ends otherwise takes its questions along.
      message_cache_invalidation: () => void reload(),
      // What happened before the line was there it does not tell.
      connected: () => void reload(),
    };
    for (const name in hear) line.on(name, hear[name] as (payload: unknown) => void);
    const again = () => void reload();
    if (open.socket.connected.get()) again();
    // The calls of one step are told as answered when all are.
    addEventListener("focus", again);
    return () => {
      for (const name in hear) line.off(name, hear[name] as (payload: unknown) => void);
      removeEventListener("focus", again);
      release();
    };
  }, [client, isLoaded, oracleDid, sessionId, baseUrl, wsUrl, reload, update]);

  const answer = useCallback(
    async (id: string, decision: "approve" | "deny", content?: Record<string, unknown>) => {
      const become = (state: IApproval["state"]) =>
        update((known) => known?.map((a) => (a.id === id ? { ...a, state } : a)));
      become("answering");
      try {
        await client.api(known(baseUrl), oracleDid).json(`/approvals/${encodeURIComponent(id)}`, {
          method: "POST",
          body: { decision, content },
        });
        update((known) => known && settled(known, id, decision));
      } catch (cause) {
        const status = cause instanceof RequestError ? cause.status : 0;
        become(status === 410 ? "expired" : "waiting");
        // Somebody was quicker, or its turn is over: what still waits is at the oracle.
        if (status === 404 || status === 409) await reload();
        else if (status !== 410) throw cause;
      }
    },
    [client, baseUrl, oracleDid, reload, update],
  );

  return useMemo(
    () => ({
      approvals: data ?? none,
      approve: (id, content) => answer(id, "approve", content),
      deny: (id) => answer(id, "deny"),
      isLoading: isLoading || config.isLoading,
      error: error ?? config.error,
      refetch: baseUrl ? refetch : config.refetch,
    }),
    [
      data,
      answer,
      isLoading,
      error,
      refetch,
      baseUrl,
      config.isLoading,
      config.error,
      config.refetch,
    ],
  );
}

function waiting(known: IApproval[]): IApproval[] {
  return known.some((a) => a.state === "expired")
    ? known.filter((a) => a.state !== "expired")
    : known;
}

function fresh(known: IApproval[], told: Told[]): IApproval[] {
  return told
    .filter((a) => !known.some((b) => b.id === a.id))
    .map((a) => ({ ...a, state: "waiting" }));
}

/** What waits now, and what is on its way or was too late. */
function merged(before: IApproval[], told: Told[]): IApproval[] {
  const kept = before.filter((a) => a.state === "expired" || told.some((b) => b.id === a.id));
  return [...kept, ...fresh(kept, told)];
}

function settled(known: IApproval[], id: string, decision: Decision): IApproval[] {
  return decision === "expired"
    ? known.map((a) => (a.id === id ? { ...a, state: "expired" } : a))
    : known.filter((a) => a.id !== id);
}
