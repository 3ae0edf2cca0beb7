import { useEffect, useState } from "react";
import type { Session } from "../../identity/session";
import { messageOf } from "../../shell/format";
import type { IconName } from "../../shell/icons";
import { loadWords, localeNow, say } from "../../words";
import { here } from "./here";

const litres = [420, 388, 512, 475, 610, 702, 655];

/** A week as this reader names its days, from a Monday on. */
function week(): string[] {
  const day = new Intl.DateTimeFormat(localeNow(), { weekday: "short", timeZone: "UTC" });
  return litres.map((_, i) => day.format(Date.UTC(2024, 0, 1 + i)));
}

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
      const [{ loadSample }] = await Promise.all([
        import("../knowledge/loadSample"),
        loadWords("knowledge"),
      ]);
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
    ...everyday().slice(0, Math.max(0, shown - (own?.length ?? 0))),
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
    about: from === "sample" ? say("chat.fromSample") : say("chat.suggestedHere"),
    icon: "book" as const,
  }));
}

/** First questions that every oracle can answer, also the built-in guide. */
const everyday = (): Suggestion[] => [
  {
    title: say("chat.whatIs"),
    about: say("chat.whatIsAbout"),
    icon: "about",
    text: say("chat.whatIs"),
  },
  {
    title: say("chat.drawChart"),
    about: say("chat.drawChartAbout"),
    icon: "operator",
    text: `/tool show_chart ${JSON.stringify({ title: say("chat.chartTitle"), labels: week(), values: litres })}`,
  },
  {
    title: say("chat.listFiles"),
    about: say("chat.listFilesAbout"),
    icon: "files",
    text: say("chat.listFilesAsk"),
  },
  {
    title: say("chat.setDark"),
    about: say("chat.setDarkAbout"),
    icon: "moon",
    text: say("chat.setDarkAsk"),
  },
];
