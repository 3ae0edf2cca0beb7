import { useAsked } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { say } from "../../words";
import { useCall } from "./CallProvider";

/** The calls of this user that are on in another tab or on another device. */
export function Elsewhere() {
  const call = useCall();
  const { data } = useAsked({
    queryKey: ["calls", call.phase],
    queryFn: call.findCalls,
    enabled: call.isReady && call.canCall,
    refetchInterval: 5000,
  });
  // The one that has just ended here may take a moment to be written down.
  const others = data?.filter((one) => call.endReason === "taken" || one.callId !== call.callId);
  return others?.slice(0, 1).map(({ callId, sessionId, callType }) => (
    <div key={callId} className="elsewhere notice">
      <p role="status">{say("call.elsewhere")}</p>
      <button
        type="button"
        onClick={() => {
          call.setSessionId(sessionId);
          void call.callAgent({ ...call.choices, callId, sessionId, callType });
        }}
      >
        <Icon name="call" /> {say("call.goOnHere")}
      </button>
    </div>
  ));
}
