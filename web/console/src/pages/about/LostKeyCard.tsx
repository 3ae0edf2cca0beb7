import { askForCode, fetchKeyRequests, type KeyRequest } from "../../identity/newKeys";
import { useSession } from "../../identity/session";
import { useAsked } from "../../shell/asked";
import { ago, moment } from "../../shell/format";
import { say } from "../../words";
import { AccountCode } from "./AccountCode";

/** How often it is asked what became of a request. */
const often = 15_000;

/** For who lost the key of another browser: a code for the telephone, and what became of the request. */
export function LostKeyCard() {
  const session = useSession();
  const { did } = session.key;
  const asked = useAsked({
    queryKey: ["key-requests", did],
    queryFn: () => fetchKeyRequests(session),
    refetchInterval: often,
  });
  const own = asked.data?.filter(({ key }) => key === did) ?? [];
  return (
    <section className="card stack" aria-label={say("keys.lost")}>
      <h2>{say("keys.lost")}</h2>
      <p className="soft small">{say("keys.lostWhat")}</p>
      <AccountCode
        ask={async (account) => {
          const code = await askForCode(session, account);
          void asked.again();
          return code;
        }}
        action={say("keys.getCode")}
        steps={({ account, expiresAt }) =>
          say("keys.codeSteps", { account, when: moment(expiresAt, { timeStyle: "short" }) })
        }
      />
      {own.length > 0 && (
        <ul className="plain stack" aria-label={say("keys.own")}>
          {own.map((request) => (
            <li key={request.id} className="small">
              {became(request)}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** What became of a request, for who made it. */
function became({ state, account, askedAt, readyAt, expiresAt }: KeyRequest): string {
  if (state === "waiting") {
    return say("keys.ownWaits", {
      account,
      when: ago(askedAt),
      ready: moment(readyAt),
      end: moment(expiresAt),
    });
  }
  return say("keys.ownOver", { account, when: ago(askedAt), state });
}
