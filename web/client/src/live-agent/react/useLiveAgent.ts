import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { OraclesClient } from "../../core/client";
import type { OracleOverrides } from "../../core/config";
import { useOraclesContext } from "../../react/context";
import { useLatest } from "../../react/latest";
import { silentPage } from "../../react/silent";
import { useLoaded } from "../../react/useLoaded";
import { useOraclesConfig, type UseOraclesConfigResult } from "../../react/useOraclesConfig";
import { LiveAgent, type AgentHost, type CallOptions, type LiveState } from "../core/agent";
import { CallError } from "../core/errors";
import { keyOf, oracleKeys } from "../core/identity";
import { rememberLeft, takeLeft } from "../core/left";
import { canCall, type DeviceChoice } from "../core/media";
import { openCalls, Signals, type OpenCall } from "../core/signals";

/** Shows a message to the user. */
export type ToastAlert = (toast: { title: string; description: string }) => void;

export interface UseLiveAgentOptions {
  oracleDid: string;
  overrides?: OracleOverrides;
  /** The oracle's Ed25519 key (z6Mk…), when its DID cannot be resolved here. */
  oracleKey?: string;
  /** Address of the file `frame-worker`, where workers made of text are forbidden. */
  frameWorkerUrl?: string | URL;
  /** "relay" never shows the user's own address to the oracle. */
  iceTransportPolicy?: RTCIceTransportPolicy;
  /** False leaves a call alone that the tab was in before it was reloaded. */
  rejoin?: boolean;
  /** Told of every error, beside `error`. */
  toastAlert?: ToastAlert;
}

export interface UseLiveAgentResult extends LiveState {
  /** Calls the oracle. It does not throw: `error` says what went wrong. */
  callAgent: (options: CallOptions) => Promise<void>;
  endCall: () => Promise<void>;
  /** Between callAgent and the first sound, and while a lost connection is sought. */
  isConnecting: boolean;
  /** Whether a call can be made: the oracle is known, and no call is on. */
  isReady: boolean;
  /** From callAgent to the end. */
  isCalling: boolean;
  isConfigReady: boolean;
  /** Whether the oracle has been reached in this call. */
  sessionStarted: boolean;
  /** Whether to show the call. */
  sessionViewVisible: boolean;
  /** Whether this browser can make calls at all. */
  canCall: boolean;
  /** Goes on with another microphone or camera; "" is the system's own choice. */
  changeDevices: (choice: DeviceChoice) => Promise<void>;
  /** The user's calls that are on, here or elsewhere; `callAgent` with a callId takes one over. */
  findCalls: () => Promise<OpenCall[]>;
  /** Mutes or unmutes the microphone; without an argument it changes over. */
  mute: (muted?: boolean) => void;
  /** The same for the camera. */
  hideCamera: (off?: boolean) => void;
  /** Types instead of speaking; false when it could not be sent. */
  sendText: (text: string) => boolean;
  /** Stops the oracle's speech. */
  interrupt: () => void;
}

/**
 * Encrypted voice and video calls with an oracle. The call ends when the
 * component goes. A page that is reloaded goes on with its call.
 *
 * The form with single arguments is that of older libraries; the Matrix client
 * and the OpenID token are not used.
 */
export function useLiveAgent(options: UseLiveAgentOptions): UseLiveAgentResult;
export function useLiveAgent(
  oracleDid: string,
  mxClient?: unknown,
  openIdToken?: unknown,
  toastAlert?: ToastAlert,
  overrides?: OracleOverrides,
): UseLiveAgentResult;
export function useLiveAgent(
  first: UseLiveAgentOptions | string,
  _mxClient?: unknown,
  _openIdToken?: unknown,
  toastAlert?: ToastAlert,
  overrides?: OracleOverrides,
): UseLiveAgentResult {
  const { client } = useOraclesContext();
  const options: UseLiveAgentOptions =
    typeof first === "string"
      ? {
          oracleDid: first,
          ...(toastAlert ? { toastAlert } : {}),
          ...(overrides ? { overrides } : {}),
        }
      : first;
  const { oracleDid } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const [agent] = useState(() => new LiveAgent());
  const state = useSyncExternalStore(agent.state.subscribe, agent.state.get, agent.state.get);
  useLoaded(client);
  const latest = useLatest({ options, config, client });

  useEffect(() => {
    const leave = () => {
      const left = agent.leave();
      if (left) rememberLeft(oracleDid, left);
    };
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      agent.end();
    };
  }, [agent, client, oracleDid]);

  const { isReady } = config;
  useEffect(() => {
    if (!isReady || latest.current.options.rejoin === false) return;
    const rejoin = () => {
      const left = takeLeft(oracleDid);
      const given = latest.current;
      if (left) void agent.call(hostOf(given), left, given.client.loading());
    };
    // A moment later: a component that is only tried out does not take it.
    const soon = setTimeout(rejoin);
    // A page that the browser kept is shown again as it was left.
    const back = (event: PageTransitionEvent) => {
      if (event.persisted) rejoin();
    };
    addEventListener("pageshow", back);
    return () => {
      clearTimeout(soon);
      removeEventListener("pageshow", back);
    };
  }, [agent, client, oracleDid, isReady, latest]);

  const { error } = state;
  useEffect(() => {
    const toast = latest.current.options.toastAlert;
    if (error) toast?.({ title: "Call", description: error.message });
  }, [error, latest]);

  const acts = useMemo(
    // eslint-disable-next-line react-hooks/preserve-manual-memoization -- the ref is the same for ever
    () => ({
      callAgent: (request: CallOptions) => {
        const given = latest.current;
        return agent.call(hostOf(given), request, given.client.loading());
      },
      endCall: async () => agent.end(),
      changeDevices: (choice: DeviceChoice) => agent.change(choice),
      findCalls: () => {
        const { client: now, config: known, options: asked } = latest.current;
        return openCalls(now.api(known.apiUrl ?? "", asked.oracleDid));
      },
      mute: (muted = !agent.state.get().isMuted) => agent.mute(muted),
      hideCamera: (off = !agent.state.get().isCameraOff) => agent.hideCamera(off),
      sendText: (text: string) => agent.sendText(text),
      interrupt: () => agent.interrupt(),
    }),
    [agent, latest],
  );

  const { phase } = state;
  const isCalling = phase !== "idle" && phase !== "ended";
  return useMemo(
    () => ({
      ...state,
      ...acts,
      error: state.error ?? config.error,
      isConnecting: phase === "connecting" || phase === "reconnecting",
      isReady: config.isReady && !isCalling,
      isCalling,
      isConfigReady: config.isReady,
      canCall: canCall(),
      sessionStarted: isCalling && state.startedAt !== undefined,
      sessionViewVisible: isCalling,
    }),
    [state, acts, phase, isCalling, config.isReady, config.error],
  );
}

/** What a call needs, from what the hook was given last. */
function hostOf(given: {
  client: OraclesClient;
  options: UseLiveAgentOptions;
  config: UseOraclesConfigResult;
}): AgentHost {
  const { client, options, config } = given;
  const { oracleDid, oracleKey, frameWorkerUrl, iceTransportPolicy } = options;
  const baseUrl = config.apiUrl ?? "";
  const wsUrl = config.socketUrl ?? "";
  return {
    frameWorkerUrl,
    iceTransportPolicy,
    line: (sessionId) => {
      if (!config.isReady) {
        throw new CallError("not_ready", "The oracle's configuration is not resolved yet.");
      }
      const { open, release } = client.join({ oracleDid, sessionId, baseUrl, wsUrl }, silentPage());
      return { signals: new Signals(client.api(baseUrl, oracleDid), open.socket), release };
    },
    keys: async () => {
      const pinned = keyOf(oracleKey);
      return pinned ? [pinned] : oracleKeys(oracleDid, client.gateway);
    },
    renew: async (): Promise<Record<string, string>> => {
      const { credentials } = client;
      return credentials.can("invocation")
        ? { invocation: await credentials.renew("invocation", oracleDid) }
        : { ucanDelegation: await credentials.renew("delegation", oracleDid) };
    },
  };
}
