import { useOraclesContext } from "@castalia/oracles-client";
import { useCallback, useEffect, useState } from "react";
import { useSession } from "../../identity/session";
import { Icon } from "../../shell/icons";
import { CopyButton } from "../../shell/CopyButton";
import { Say, say } from "../../words";
import { here } from "./here";

interface Standing {
  available: number;
  held: number;
  claims: { id: string; amount?: number }[];
}

export interface Credits {
  standing: Standing | undefined;
  reload: () => void;
}

/** The user's account, when the oracle keeps one. */
export function useCredits(on: boolean): Credits {
  const { authedRequest } = useOraclesContext();
  const { serviceDid } = useSession();
  const [standing, setStanding] = useState<Standing>();
  const reload = useCallback(() => {
    if (!on) return;
    authedRequest<Standing>(`${here.baseUrl}/credits`, "GET", { oracleDid: serviceDid }).then(
      setStanding,
      () => undefined, // The badge is a courtesy: without it nothing is missing.
    );
  }, [authedRequest, serviceDid, on]);
  useEffect(reload, [reload]);
  return { standing, reload };
}

export function CreditsBadge({ credits }: { credits: Credits }) {
  const { standing } = credits;
  if (!standing) return null;
  return (
    <span
      className={standing.available > 0 ? "badge" : "badge low"}
      title={
        standing.held > 0
          ? say("conversation.heldCredits", { held: standing.held })
          : say("conversation.yourCredits")
      }
    >
      <Icon name="coin" />{" "}
      <Say
        id="conversation.credits"
        values={{ n: standing.available }}
        tags={{ word: (inside) => <span className="credits-word">{inside}</span> }}
      />
    </span>
  );
}

/** Says kindly that the oracle wants to be paid, and what to tell whom. */
export function Payment({ claims, credits }: { claims: string[]; credits: Credits }) {
  const { key } = useSession();
  return (
    <div role="alert" className="notice payment">
      <p>
        <Say id="conversation.unpaid" tags={{ b: (inside) => <strong>{inside}</strong> }} />
      </p>
      <p className="mono">
        <span dir="auto">{key.did}</span>{" "}
        <CopyButton text={key.did} label={say("conversation.copyYourDid")} />
      </p>
      {claims.length > 0 && (
        <p className="soft small">
          {say("conversation.openClaims", { claims: claims.join(", ") })}
        </p>
      )}
      <button type="button" onClick={credits.reload}>
        {say("conversation.lookAgain")}
      </button>
    </div>
  );
}
