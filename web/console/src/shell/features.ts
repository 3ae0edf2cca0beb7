import { createContext, useContext } from "react";

/** What the server behind this page offers. */
export interface Features {
  name: string;
  services: string[];
  plugins: string[];
  /** What networks show of a telephone's screen; an older server does not say. */
  screen?: { septets: number; characters: number };
}

const path = "/console/features.json";

export const everything: Features = {
  name: "Castalia",
  services: ["ussd", "filestore", "query", "oracle"],
  plugins: [],
};

const FeaturesContext = createContext<Features>(everything);
export const FeaturesProvider = FeaturesContext.Provider;

export function useFeatures(): Features {
  return useContext(FeaturesContext);
}

/** What the window is told when the oracle got another name here. */
export const renamed = "castalia-renamed";

/** An older server tells nothing: then every page is offered. */
export async function fetchFeatures(): Promise<Features> {
  try {
    const reply = await fetch(path);
    return reply.ok ? ((await reply.json()) as Features) : everything;
  } catch {
    return everything;
  }
}

/** What networks show of a screen of one service code; an older server says it of all. */
export async function fetchScreen(code: string): Promise<Features["screen"]> {
  const reply = await fetch(`${path}?${new URLSearchParams({ code })}`);
  return reply.ok ? ((await reply.json()) as Features).screen : undefined;
}
