import { useEffect, useState } from "react";
import type { Session } from "../../identity/session";
import { messageOf } from "../../shell/format";
import type { IconName } from "../../shell/icons";
import { here } from "./here";

const chart = {
  title: "Litres drawn at the spring",
  labels: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
  values: [420, 388, 512, 475, 610, 702, 655],
};

interface Suggestion {
  title: string;
  about: string;
  icon: IconName;
  text: string;
}

/** How many are shown, where this oracle's own are not more. */
const shown = 4;

/** A click that gives the oracle documents to answer from, where it has none. */
interface Sample {
  isLoading: boolean;
  error: string;
  load: () => Promise<void>;
}

/** On one's own machine: who visits somebody else's oracle is not to furnish it. */
const isOwnMachine = () => /^(localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);

/**
 * This oracle's own first questions, and behind them some of those that every oracle has; and the sample community, as
 * long as there are none of its own.
 */
export function useSuggestions(session: Session): { suggestions: Suggestion[]; sample?: Sample } {
  const [own, setOwn] = useState<Suggestion[]>();
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState("");
  useEffect(() => {
    const leaving = new AbortController();
    ownSuggestions(leaving.signal)
      .then(setOwn)
      .catch(() => undefined); // there are others
    return () => leaving.abort();
  }, []);
  async function load() {
    setLoading(true);
    setError("");
    try {
      const { loadSample } = await import("../knowledge/loadSample");
      await loadSample(session);
      setOwn(await ownSuggestions());
    } catch (cause) {
      setError(messageOf(cause));
    } finally {
      setLoading(false);
    }
  }
  const suggestions = [
    ...(own ?? []),
    ...everyday.slice(0, Math.max(0, shown - (own?.length ?? 0))),
  ];
  return own?.length === 0 && isOwnMachine()
    ? { suggestions, sample: { isLoading, error, load } }
    : { suggestions };
}

async function ownSuggestions(signal?: AbortSignal): Promise<Suggestion[]> {
  const reply = await fetch(`${here.baseUrl}/openings`, signal ? { signal } : {});
  if (!reply.ok) return [];
  const { from, openings } = (await reply.json()) as {
    from: string;
    openings: { title: string; text: string }[];
  };
  if (from === "program") return [];
  return openings.map(({ title, text }) => ({
    title,
    text,
    about: from === "sample" ? "About the sample community" : "Suggested here",
    icon: "book" as const,
  }));
}

/** First questions that every oracle can answer, also the built-in guide. */
const everyday: Suggestion[] = [
  {
    title: "What is Castalia?",
    about: "Quotes its own documentation",
    icon: "about",
    text: "What is Castalia?",
  },
  {
    title: "Draw a chart",
    about: "An action of this page",
    icon: "operator",
    text: `/tool show_chart ${JSON.stringify(chart)}`,
  },
  {
    title: "List my files",
    about: "With your permission only",
    icon: "files",
    text: "list my files",
  },
  {
    title: "Set the theme to dark",
    about: "A tool that runs in your browser",
    icon: "moon",
    text: "set the theme to dark",
  },
];
