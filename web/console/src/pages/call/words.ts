import type { CallPhase } from "@castalia/oracles-client/live-agent";

const phases: Record<CallPhase, string> = {
  idle: "Ready",
  connecting: "Connecting…",
  connected: "Connected",
  reconnecting: "The network changed. Reconnecting…",
  ended: "The call has ended",
};

const states = { listening: "Listening", thinking: "Thinking…", speaking: "Speaking" };

/** What is going on, in a word or two. */
export function goingOn(phase: CallPhase, state: keyof typeof states | undefined): string {
  return phase === "connected" && state ? states[state] : phases[phase];
}

const reasons: Record<string, string> = {
  hangup: "The call has ended.",
  ended: "The call has ended.",
  taken: "The call goes on in another tab, or on another device.",
  call_ended: "The call had ended already.",
  left: "The call has ended.",
  limit: "The call has reached the longest time that this oracle allows.",
  timeout: "The connection was lost for too long.",
  token_expired: "Your permission to call ran out.",
  token_revoked: "Your permission to call was withdrawn.",
  session_deleted: "The conversation was deleted.",
  interrupted: "The oracle's machine stopped in the middle of the call.",
  drain: "The oracle's machine was switched off, and no other took the call.",
};

/** Why a call is over, in a sentence. */
export function whyOver(reason: string | undefined): string {
  return reasons[reason ?? "hangup"] ?? "The call could not go on.";
}

/** The folder of a file. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Minutes and seconds, and hours if there are any. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((n) =>
    String(n).padStart(2, "0"),
  );
  const hours = Math.floor(seconds / 3600);
  return [...(hours > 0 ? [String(hours)] : []), ...parts].join(":");
}

/** How a half of speech is: GET /calls/speech. */
export type Working = "works" | "away" | "none";

export interface SpeechOfCalls {
  hearing: Working;
  voice: Working;
}

const ears: Record<Working, string> = {
  works: "The oracle hears what you say",
  away: "What understands speech here does not answer at the moment, so you may have to type",
  none: "Nothing here understands speech, so you type in the call",
};

const voices: Record<Working, string> = {
  works: "it answers aloud.",
  away: "its voice is away at the moment: read the captions.",
  none: "it has no voice: read the captions.",
};

/** What becomes of speech in a call, in a sentence, and whether somebody should look at it. */
export function speechNews({ hearing, voice }: SpeechOfCalls): { text: string; isBad: boolean } {
  return { text: `${ears[hearing]}; ${voices[voice]}`, isBad: [hearing, voice].includes("away") };
}

/** The languages of a browser, each once, by their names in English. */
export function languagesOf(tags: readonly string[]): { tag: string; name: string }[] {
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  const known = tags.filter((tag) => /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(tag));
  return [...new Set(known)].map((tag) => ({ tag, name: nameOf(names, tag) }));
}

/** What looks like a language need not be one that the browser takes. */
function nameOf(names: Intl.DisplayNames, tag: string): string {
  try {
    return names.of(tag) ?? tag;
  } catch {
    return tag;
  }
}
