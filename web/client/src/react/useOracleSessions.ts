import { mayPass } from "../core/again";
import type { OracleApi } from "../core/api";
import { createSession, deleteSession, readSessions, type SessionPage } from "../core/sessions";
import { useOraclesContext } from "./context";
import { useOraclesConfig } from "./useOraclesConfig";
import { useResource } from "./useResource";
import { useTask } from "./useTask";

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
  const ask = <T>(run: (api: OracleApi) => Promise<T>) =>
    api
      ? run(api)
      : Promise.reject(config.error ?? new Error("The oracle's configuration is not resolved yet"));
  const page = (offset: number) => ask((api) => readSessions(api, limit, offset));
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
  const error = list.error ?? config.error;

  return {
    sessions,
    total,
    isLoading: list.isLoading || config.isLoading,
    /** What could not be read is asked for again by itself; `refetch` does it at once. */
    isRetrying: error !== undefined && mayPass(error),
    error,
    refetch: api ? list.refetch : config.refetch,
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
        const session = await ask(createSession);
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
        await ask((api) => deleteSession(api, sessionId));
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
