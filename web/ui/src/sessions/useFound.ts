import {
  useOraclesConfig,
  useOraclesContext,
  type IChatSession,
  type OracleOverrides,
} from "@castalia/oracles-client";
import { useEffect, useState } from "react";
import { messageOf, useLabels } from "../labels";

/** A conversation that a search found, with what was said around the words. */
export interface Found extends IChatSession {
  excerpt?: string;
}

interface Answer {
  sessions: Found[];
  total: number;
}

interface State extends Answer {
  /** What these were searched for; something else is still being asked for. */
  search: string;
  error: string;
}

const nothing: State = { search: "", sessions: [], total: 0, error: "" };

/** How long to wait for the next letter before the server is asked. */
const patience = 200;
const page = 30;

/** All conversations with these words in their title or messages, loaded here or not. */
export function useFound(
  search: string,
  oracleDid: string,
  overrides: OracleOverrides | undefined,
) {
  const { authedRequest } = useOraclesContext();
  const { apiUrl } = useOraclesConfig(oracleDid, overrides);
  const labels = useLabels();
  const [state, setState] = useState(nothing);
  const [isReading, setReading] = useState(false);
  if (!search && state !== nothing) setState(nothing);

  function ask(offset: number): Promise<Answer> {
    const query = new URLSearchParams({ search, limit: String(page), offset: String(offset) });
    return authedRequest<Answer>(`${apiUrl ?? ""}/sessions?${query}`, "GET", { oracleDid });
  }
  useEffect(() => {
    if (!search || apiUrl === null) return;
    let isStale = false;
    const timer = setTimeout(() => {
      ask(0).then(
        (answer) => {
          if (!isStale) setState({ ...answer, search, error: "" });
        },
        (cause: unknown) => {
          if (!isStale) setState({ ...nothing, search, error: messageOf(cause, labels) });
        },
      );
    }, patience);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- ask is new with every render
  }, [search, authedRequest, oracleDid, apiUrl]);

  async function more() {
    setReading(true);
    try {
      const next = await ask(state.sessions.length);
      setState((now) => {
        if (now.search !== search) return now;
        const known = new Set(now.sessions.map((s) => s.sessionId));
        const fresh = next.sessions.filter((s) => !known.has(s.sessionId));
        return { ...now, total: next.total, sessions: [...now.sessions, ...fresh] };
      });
    } catch (cause) {
      setState((now) => ({ ...now, error: messageOf(cause, labels) }));
    } finally {
      setReading(false);
    }
  }
  const isCurrent = state.search === search;
  return {
    ...state,
    /** The answer for these words is not there yet. */
    isSearching: search !== "" && !isCurrent,
    hasMore: isCurrent && state.sessions.length < state.total,
    isReading,
    more: () => void more(),
    forget: (sessionId: string) =>
      setState((now) => ({
        ...now,
        total: now.total - 1,
        sessions: now.sessions.filter((s) => s.sessionId !== sessionId),
      })),
  };
}
