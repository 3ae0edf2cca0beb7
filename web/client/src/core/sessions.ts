import type { OracleApi } from "./api";

export interface IChatSession {
  sessionId: string;
  title?: string;
  lastUpdatedAt: string;
  createdAt: string;
  oracleName: string;
  roomId?: string;
}

/** Some of a user's sessions, and how many there are in all. */
export interface SessionPage {
  sessions: IChatSession[];
  total: number;
}

export function readSessions(api: OracleApi, limit: number, offset: number): Promise<SessionPage> {
  return api.json(`/sessions?limit=${limit}&offset=${offset}`);
}

export function createSession(api: OracleApi): Promise<IChatSession> {
  return api.json("/sessions", { method: "POST" });
}

export async function deleteSession(api: OracleApi, sessionId: string): Promise<void> {
  await api.json(`/sessions/${encodeURIComponent(sessionId)}`, { method: "DELETE" });
}
