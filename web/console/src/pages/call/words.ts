import type { CallPhase } from "@castalia/oracles-client/live-agent";
import { localeNow, say, type Key } from "../../words";

const phases: Record<CallPhase, Key> = {
  idle: "call.ready",
  connecting: "call.connecting",
  connected: "call.connected",
  reconnecting: "call.reconnecting",
  ended: "call.over",
};

const states = {
  listening: "call.listening",
  thinking: "call.thinking",
  speaking: "call.speaking",
} as const;

/** What is going on, in a word or two. */
export function goingOn(phase: CallPhase, state: keyof typeof states | undefined): string {
  return say(phase === "connected" && state ? states[state] : phases[phase]);
}

const reasons: Record<string, Key> = {
  hangup: "call.ended",
  ended: "call.ended",
  taken: "call.taken",
  call_ended: "call.endedBefore",
  left: "call.ended",
  limit: "call.limit",
  timeout: "call.timeout",
  token_expired: "call.permissionExpired",
  token_revoked: "call.permissionRevoked",
  session_deleted: "call.conversationDeleted",
  interrupted: "call.interrupted",
  drain: "call.drained",
};

/** Why a call is over, in a sentence. */
export function whyOver(reason: string | undefined): string {
  return say(reasons[reason ?? "hangup"] ?? "call.couldNotGoOn");
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

/** What becomes of speech in a call, in a sentence, and whether somebody should look at it. */
export function speechNews({ hearing, voice }: SpeechOfCalls): { text: string; isBad: boolean } {
  return {
    text: say("call.speech", { hearing, voice }),
    isBad: [hearing, voice].includes("away"),
  };
}

/** The languages of a browser, each once, by their names for this reader. */
export function languagesOf(tags: readonly string[]): { tag: string; name: string }[] {
  const names = new Intl.DisplayNames([localeNow()], { type: "language" });
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
