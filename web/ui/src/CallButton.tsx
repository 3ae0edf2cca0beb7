import type { UseLiveAgentResult } from "@castalia/oracles-client/live-agent";
import type { MouseEvent } from "react";
import { useLabels } from "./labels";
import { IconButton } from "./parts/Button";
import { Icon } from "./parts/Icon";
import { isPlainClick } from "./parts/click";

export type CallButtonProps =
  | {
      /** The page where calls are made; `onOpen` goes there without a reload. */
      href: string;
      onOpen?: (event: MouseEvent) => void;
    }
  | {
      /** What `useLiveAgent` gives: the call begins and ends here. */
      agent: Pick<UseLiveAgentResult, "phase" | "callAgent" | "endCall">;
      sessionId: string;
      callType?: "audio" | "video";
      /** A call that did not come about. */
      onError?: (error: unknown) => void;
    };

/** From a conversation to a call about it, and back. */
export function CallButton(props: CallButtonProps) {
  return "href" in props ? <CallLink {...props} /> : <Call {...props} />;
}

function CallLink({ href, onOpen }: Extract<CallButtonProps, { href: string }>) {
  const labels = useLabels();
  return (
    <a
      className="castalia-button castalia-quiet"
      href={href}
      aria-label={labels.call}
      title={labels.call}
      onClick={(event) => {
        if (!onOpen || !isPlainClick(event)) return;
        event.preventDefault();
        onOpen(event);
      }}
    >
      <Icon name="call" />
    </a>
  );
}

function Call(props: Exclude<CallButtonProps, { href: string }>) {
  const { agent, sessionId, callType = "audio", onError } = props;
  const labels = useLabels();
  const isOn = agent.phase !== "idle" && agent.phase !== "ended";
  const label = !isOn ? labels.call : agent.phase === "connecting" ? labels.calling : labels.hangUp;
  const toggle = () => (isOn ? agent.endCall() : agent.callAgent({ sessionId, callType }));
  return (
    <IconButton
      icon={isOn ? "hangup" : "call"}
      label={label}
      aria-pressed={isOn}
      onClick={() => void toggle().catch((cause: unknown) => onError?.(cause))}
    />
  );
}
