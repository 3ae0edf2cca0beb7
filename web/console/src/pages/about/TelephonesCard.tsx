import { useState } from "react";
import { unlinkTelephone, type KeyCode } from "../../identity/newKeys";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { moment } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
import { AccountCode, CodeFacts } from "./AccountCode";
import { askToLink, askToReset, fetchTelephones } from "./telephones";

/** How often it is asked whether a code was typed: somebody looks at it until it was. */
const often = 3000;

/** Telephones that are the same person as this key: which there are, one more, and one less. */
export function TelephonesCard() {
  const session = useSession();
  const key = ["telephones", session.key.did];
  const linked = useAsked({
    queryKey: key,
    queryFn: () => fetchTelephones(session),
    refetchInterval: often,
  });
  const doing = useDoing(key);
  const [leaving, setLeaving] = useState("");
  const [reset, setReset] = useState<KeyCode>();
  const [told, setTold] = useState("");
  const telephones = linked.data ?? [];
  const has = (account: string) => telephones.some((one) => one.account === account);
  return (
    <section className="card stack" aria-label={say("about.telephones")}>
      <h2>{say("about.telephones")}</h2>
      <p className="soft small">{say("about.telephonesWhat")}</p>
      <Problem error={doing.error || linked.error} />
      {linked.data && telephones.length === 0 && <p>{say("about.noTelephone")}</p>}
      {telephones.length > 0 && (
        <ul className="plain stack" aria-label={say("about.linkedTelephones")}>
          {telephones.map(({ account, linkedAt }) => (
            <li key={account} className="stack">
              <span>
                <strong className="mono" dir="ltr">
                  {account}
                </strong>{" "}
                <span className="soft small">
                  {say("about.linkedSince", {
                    when: moment(linkedAt, { dateStyle: "medium", timeStyle: "short" }),
                  })}
                </span>
              </span>
              <span className="row">
                <button
                  type="button"
                  disabled={doing.isBusy}
                  aria-label={say("about.resetPinOf", { account })}
                  onClick={() => {
                    setReset(undefined);
                    doing.run(async () => setReset(await askToReset(session, account)));
                  }}
                >
                  {say("about.resetPin")}
                </button>
                <button
                  type="button"
                  className="danger"
                  disabled={doing.isBusy}
                  aria-label={say("about.unlinkOne", { account })}
                  onClick={() => setLeaving(account)}
                >
                  {say("about.unlink")}
                </button>
              </span>
              {reset?.account === account && (
                <div className="stack" role="status">
                  <CodeFacts code={reset.code} />
                  <p>{say("about.resetSteps", { when: until(reset) })}</p>
                </div>
              )}
            </li>
          ))}
        </ul>
      )}
      <p role="status" className="visually-hidden">
        {told}
      </p>
      <AccountCode
        ask={async (account) => {
          setTold("");
          return askToLink(session, account);
        }}
        action={say("about.linkCode")}
        isDone={({ account }) => has(account)}
        steps={(code) => say("about.linkSteps", { account: code.account, when: until(code) })}
      />
      {leaving && (
        <Confirm
          title={say("about.unlinkAsk", { account: leaving })}
          action={say("about.unlink")}
          onConfirm={() => {
            const account = leaving;
            setLeaving("");
            doing.run(async () => {
              await unlinkTelephone(session, account);
              setReset(undefined);
              setTold(say("about.unlinked", { account }));
            });
          }}
          onClose={() => setLeaving("")}
        >
          {say("about.unlinkHint")}
        </Confirm>
      )}
    </section>
  );
}

const until = ({ expiresAt }: KeyCode) => moment(expiresAt, { timeStyle: "short" });
