import { useOraclesContext } from "@castalia/oracles-client";
import { useSession } from "../../identity/session";
import { useAsked } from "../../shell/asked";
import { here } from "../chat/here";
import { speechNews, type SpeechOfCalls } from "./words";

/** Whether a call can be heard and answered aloud, before the microphone is asked for. */
export function SpeechNews() {
  const { serviceDid } = useSession();
  const { authedRequest } = useOraclesContext();
  const { data } = useAsked({
    queryKey: ["calls", "speech"],
    queryFn: () =>
      authedRequest<SpeechOfCalls>(`${here.baseUrl}/calls/speech`, "GET", {
        oracleDid: serviceDid,
      }),
    staleTime: 30_000,
  });
  // Who is not told calls all the same: the call says it too.
  if (!data) return null;
  const { text, isBad } = speechNews(data);
  return (
    <p role="status" className={isBad ? "notice" : "soft small"}>
      {text}
    </p>
  );
}
