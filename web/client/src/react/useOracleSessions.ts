import { useCallback, useState } from "react";
import { asError } from "../core/errors";
import { useOraclesContext } from "./context";
import { useOraclesConfig } from "./useOraclesConfig";
import { useResource } from "./useResource";

export interface IChatSession {
  sessionId: string;
  title?: string;
  lastUpdatedAt: string;
  createdAt: string;
  oracleName: string;
  roomId?: string;
}

interface SessionPage {
  sessions: IChatSession[];
  total: number;
}

export interface UseOracleSessionsOptions {
  baseUrl?: string;
  limit?: number;
}

/** Creates, lists and deletes the user's sessions with an oracle. */
export function useOracleSessions(oracleDid: string, options: UseOracleSessionsOptions = {}) {
  const { client } = useOraclesContext();
  const { baseUrl, limit = 20 } = options;
  const config = useOraclesConfig(oracleDid, baseUrl ? { baseUrl } : undefined);
  const apiUrl = config.isReady ? config.apiUrl : null;
  const api = apiUrl ? client.api(apiUrl, oracleDid) : undefined;
  const page = (offset: number) =>
    api
      ? api.json<SessionPage>(`/sessions?limit=${limit}&offset=${offset}`)
      : Promise.reject(new Error("The oracle's configuration is not resolved yet"));
  const key = apiUrl ? ["sessions", apiUrl, oracleDid, limit].join(" ") : null;
  // What was opened page by page stays open when it is read again. Unless sessions
  // went away elsewhere, the first page tells all that has changed.
  const list = useResource<SessionPage>(key, async (before) => {
    let read = await page(0);
    if (!before) return read;
    const { total } = read;
    const all = joined(read, { ...before, total });
    if (all.sessions.length - before.sessions.length === total - before.total) return all;
    while (read.sessions.length < Math.min(before.sessions.length, total)) {
      const more = joined(read, await page(read.sessions.length));
      if (more.sessions.length === read.sessions.length) break;
      read = more;
    }
    return read;
  });
  const creating = useTask();
  const deleting = useTask();
  const more = useTask();
  const sessions = list.data?.sessions ?? [];
  const total = list.data?.total ?? 0;

  return {
    sessions,
    total,
    isLoading: list.isLoading || config.isLoading,
    error: list.error ?? config.error,
    refetch: list.refetch,
    isConfigReady: config.isReady,
    hasNextPage: sessions.length < total,
    isFetchingNextPage: more.running,
    fetchNextPage: () =>
      more.run(async () => {
        const next = await page(sessions.length);
        list.update((data) => joined(data, next));
      }),
    createSession: () =>
      creating.run(async () => {
        if (!api) throw new Error("The oracle's configuration is not resolved yet");
        const session = await api.json<IChatSession>("/sessions", { method: "POST" });
        list.update((data) => ({
          total: (data?.total ?? 0) + 1,
          sessions: [session, ...(data?.sessions ?? [])],
        }));
        return session;
      }),
    isCreatingSession: creating.running,
    isCreateSessionError: creating.error !== undefined,
    deleteSession: (sessionId: string) =>
      deleting.run(async () => {
        if (!api) throw new Error("The oracle's configuration is not resolved yet");
        await api.json(`/sessions/${encodeURIComponent(sessionId)}`, { method: "DELETE" });
        list.update((data) => ({
          total: Math.max(0, (data?.total ?? 1) - 1),
          sessions: (data?.sessions ?? []).filter((s) => s.sessionId !== sessionId),
        }));
      }),
    isDeletingSession: deleting.running,
    isDeleteSessionError: deleting.error !== undefined,
  };
}

/** A page after those before it; what moved to another page meanwhile is there once. */
function joined(before: SessionPage | undefined, next: SessionPage): SessionPage {
  const sessions = before?.sessions ?? [];
  const known = new Set(sessions.map((s) => s.sessionId));
  return {
    total: next.total,
    sessions: [...sessions, ...next.sessions.filter((s) => !known.has(s.sessionId))],
  };
}

/** Something that the user starts and that may fail. */
function useTask() {
  const [state, set] = useState<{ running: boolean; error: Error | undefined }>({
    running: false,
    error: undefined,
  });
  const run = useCallback(async <T>(work: () => Promise<T>): Promise<T> => {
    set({ running: true, error: undefined });
    try {
      const result = await work();
      set({ running: false, error: undefined });
      return result;
    } catch (cause) {
      set({ running: false, error: asError(cause) });
      throw cause;
    }
  }, []);
  return { ...state, run };
}
