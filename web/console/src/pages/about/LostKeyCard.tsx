import { useState, type FormEvent } from "react";
import {
  askForCode,
  fetchKeyRequests,
  type KeyCode,
  type KeyRequest,
} from "../../identity/newKeys";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago, moment } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";

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
  const doing = useDoing(["key-requests"]);
  const [account, setAccount] = useState("");
  const [code, setCode] = useState<KeyCode>();
  const own = asked.data?.filter(({ key }) => key === did) ?? [];
  function submit(event: FormEvent) {
    event.preventDefault();
    setCode(undefined);
    doing.run(async () => setCode(await askForCode(session, account.trim())));
  }
  return (
    <section className="card stack" aria-label={say("keys.lost")}>
      <h2>{say("keys.lost")}</h2>
      <p className="soft small">{say("keys.lostWhat")}</p>
      <form className="stack" onSubmit={submit}>
        <label>
          {say("keys.account")}
          <input
            value={account}
            placeholder="C1A2B3C4D"
            autoComplete="off"
            dir="ltr"
            onChange={(event) => setAccount(event.target.value)}
          />
        </label>
        <p className="soft small">{say("keys.accountHint")}</p>
        <button type="submit" disabled={doing.isBusy || account.trim() === ""}>
          {say("keys.getCode")}
        </button>
      </form>
      <Problem error={doing.error} />
      {code && (
        <div className="stack" role="status">
          <dl className="facts">
            <dt>{say("keys.codeIs")}</dt>
            <dd className="mono with-copy">
              <strong dir="ltr">{code.code}</strong>
              <CopyButton text={code.code} label={say("keys.copyCode")} />
            </dd>
          </dl>
          <p>
            {say("keys.codeSteps", {
              account: code.account,
              when: moment(code.expiresAt, { timeStyle: "short" }),
            })}
          </p>
          <p>{say("keys.codeShows")}</p>
          <dl className="facts">
            <dt>{say("about.did")}</dt>
            <dd className="mono">{did}</dd>
          </dl>
        </div>
      )}
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
