import { useEffect, useMemo } from "react";
import type { OracleOverrides } from "../core/config";
import { known } from "../files/bearer";
import { useOraclesContext } from "../react/context";
import { useOraclesConfig } from "../react/useOraclesConfig";
import { useResource } from "../react/useResource";
import type { IQuestion } from "./types";

export interface UseQuestionsOptions {
  oracleDid: string;
  overrides?: OracleOverrides;
}

/** How a question goes to people. */
export interface SendOptions {
  /** A hint, such as sw. */
  language?: string;
  /** Whose people are asked; those of the nearest document without it. */
  collection?: string;
  /** The conversation that gets the answer as well. */
  sessionId?: string;
  /** Lets staff see who asks, by name or else by DID. Without it they do not. */
  showMe?: boolean;
  name?: string;
}

export interface UseQuestionsResult {
  /** What the user has asked people, the newest first. */
  questions: IQuestion[];
  /** Sends a question that no document answers to people: sending it is the user's consent. */
  send: (question: string, options?: SendOptions) => Promise<IQuestion>;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

const none: IQuestion[] = [];

/** How often the answer to a question that waits is asked after. */
const patience = 10_000;

/** Questions to people, and their answers. */
export function useQuestions(options: UseQuestionsOptions): UseQuestionsResult {
  const { client } = useOraclesContext();
  const { oracleDid } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const { data, error, isLoading, reload, refetch } = useResource(
    baseUrl && ["questions", baseUrl, oracleDid].join(" "),
    () =>
      client.api(baseUrl ?? "", oracleDid).json<{ questions: IQuestion[] }>("/knowledge/questions"),
  );
  const questions = data?.questions ?? none;
  const isWaiting = questions.some((q) => q.state === "waiting");
  useEffect(() => {
    if (!isWaiting) return;
    const again = () => {
      if (!document.hidden) void reload();
    };
    const timer = setInterval(again, patience);
    addEventListener("focus", again);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", again);
    };
  }, [isWaiting, reload]);
  const send = useMemo(
    () =>
      async (question: string, how: SendOptions = {}): Promise<IQuestion> => {
        const sent = await client
          .api(known(baseUrl), oracleDid)
          .json<IQuestion>("/knowledge/questions", { method: "POST", body: { question, ...how } });
        await reload();
        return sent;
      },
    [client, baseUrl, oracleDid, reload],
  );
  return {
    questions,
    send,
    isLoading: isLoading || config.isLoading,
    error: error ?? config.error,
    refetch: baseUrl ? refetch : config.refetch,
  };
}
