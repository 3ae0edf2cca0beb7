import { useState } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import Confirm from "../../../shell/Confirm";
import { CopyButton } from "../../../shell/CopyButton";
import { date, moment, short } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { ask, useLook } from "../api";
import { EraseAccount } from "./EraseAccount";
import { MoveAccount } from "./MoveAccount";
import { accountPath, actOf, actorOf, actsPath, type Account, type Act } from "./phones";
import "./phones.css";
import { ResetPin } from "./ResetPin";

type Step = "reset" | "move" | "close" | "erase";

/** One of the accounts, what was done to it, and what operators may do. */
export function AccountRow({ account, mayChange }: { account: Account; mayChange: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { account: id, phoneNumber, name, closedAt, createdAt, did } = account;
  return (
    <li>
      <div className="row spread">
        <span className="grow">
          <strong dir="auto">{name || id}</strong>{" "}
          {closedAt && <span className="badge">{say("phones.closed")}</span>}{" "}
          {did && <span className="badge">{say("phones.linked")}</span>}
          <span className="soft small with-copy">
            <span className="mono">{id}</span>
            <CopyButton text={id} label={say("phones.copyAccount", { account: id })} />
            <span dir="ltr">{phoneNumber}</span>
          </span>
          <span className="soft small block">
            {say("phones.since", { when: date(createdAt) })}
            {closedAt && ` ${say("phones.closedOn", { when: date(closedAt) })}`}
          </span>
        </span>
        <button
          type="button"
          className="quiet"
          aria-expanded={isOpen}
          aria-label={say("phones.showOne", { account: id })}
          onClick={() => setOpen(!isOpen)}
        >
          {say("phones.show")}
        </button>
      </div>
      {isOpen && <Details account={account} mayChange={mayChange} />}
    </li>
  );
}

function Details({ account, mayChange }: { account: Account; mayChange: boolean }) {
  const { account: id, email, did, closedAt } = account;
  const session = useSession();
  const closing = useDoing([]);
  const [step, setStep] = useState<Step>();
  const done = () => setStep(undefined);
  return (
    <div className="stack account-details">
      <Problem error={closing.error} />
      {(email || did) && (
        <dl className="facts">
          {email && (
            <>
              <dt>{say("phones.email")}</dt>
              <dd dir="ltr">{email}</dd>
            </>
          )}
          {did && (
            <>
              <dt>{say("phones.person")}</dt>
              <dd className="with-copy">
                <span className="mono">{short(did, 16, 6)}</span>
                <CopyButton text={did} label={say("phones.copyPerson", { account: id })} />
              </dd>
            </>
          )}
        </dl>
      )}
      {mayChange && (
        <div className="row">
          {!closedAt && (
            <>
              <button type="button" onClick={() => setStep("reset")}>
                {say("phones.reset")}
              </button>
              <button type="button" onClick={() => setStep("move")}>
                {say("phones.move")}
              </button>
              <button type="button" className="danger" onClick={() => setStep("close")}>
                {say("phones.closeAccount")}
              </button>
            </>
          )}
          <button type="button" className="danger" onClick={() => setStep("erase")}>
            {say("phones.erase")}
          </button>
        </div>
      )}
      <Acts account={id} />
      {step === "reset" && <ResetPin account={account} onClose={done} />}
      {step === "move" && <MoveAccount account={account} onClose={done} />}
      {step === "erase" && <EraseAccount account={account} onClose={done} />}
      {step === "close" && (
        <Confirm
          title={say("phones.closeAsk", { account: id })}
          action={say("phones.closeAccount")}
          onConfirm={() => closing.run(() => ask(session, `${accountPath(id)}/close`, "POST"))}
          onClose={done}
        >
          {say("phones.closeHint")}
        </Confirm>
      )}
    </div>
  );
}

/** Who did what to an account, the newest first. */
function Acts({ account }: { account: string }) {
  const path = `${actsPath}?${new URLSearchParams({ account })}`;
  const { data, error } = useLook<{ acts: Act[] }>(path, 15_000);
  return (
    <div aria-busy={!data && !error}>
      <h3 className="section-label">{say("phones.acts")}</h3>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={2} label={say("phones.readingActs")} />}
      {data?.acts.length === 0 && <p className="soft small">{say("phones.noActs")}</p>}
      <ul className="plain small">
        {data?.acts.map((act, i) => (
          <li key={i}>
            {say("phones.actLine", {
              what: actOf(act),
              by: actorOf(act.actor),
              when: moment(act.at),
            })}{" "}
            {act.detail && (
              <span className="soft" dir="auto">
                {act.detail}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
