import { lazy, Suspense, useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { loadWords, say } from "../../words";
import { ask, useLook } from "./api";
import { KeyRequestsCard } from "./KeyRequestsCard";

const AccountsCard = lazy(
  async () => (await Promise.all([import("./phones/AccountsCard"), loadWords("phones")]))[0],
);

interface Lock {
  account: string;
  /** own, other, or caller: a telephone that tried too many. */
  origin: string;
  /** What names a telephone; its number is masked. */
  telephone?: string;
  failures: number;
  until: string;
}

const locksPath = "/operator/ussd/locks";

/** Accounts, those that wrong PINs locked and how to open them again, and who asks for a new key. */
export function AccountsView() {
  const { data, error } = useLook<{ locks: Lock[] }>(locksPath);
  const session = useSession();
  const { run, error: refusal } = useDoing([locksPath]);
  const [account, setAccount] = useState("");
  const [opened, setOpened] = useState("");
  const list = useKeptFocus<HTMLElement>();
  const unlock = (name: string, telephone?: string) =>
    run(async () => {
      setOpened("");
      if (telephone) {
        await ask(session, "/operator/ussd/telephones/unlock", "POST", { telephone });
      } else {
        await ask(session, `/operator/ussd/accounts/${encodeURIComponent(name)}/unlock`, "POST");
      }
      setOpened(name);
      setAccount("");
    });
  function submit(event: FormEvent) {
    event.preventDefault();
    if (account.trim()) unlock(account.trim());
  }
  return (
    <div className="stack">
      <Suspense fallback={<Skeleton lines={4} label={say("operator.asking")} />}>
        <AccountsCard />
      </Suspense>
      {(refusal || opened) && (
        <p role="status" className={refusal ? "notice bad" : "notice good"}>
          {refusal || say("operator.canTryAgain", { name: opened })}
        </p>
      )}
      <div className="grid">
        <section
          {...list}
          className="card stack"
          aria-label={say("operator.locked")}
          aria-busy={!data && !error}
        >
          <h2>{say("operator.locked")}</h2>
          <Problem error={error} />
          {!data && !error && <Skeleton lines={3} label={say("operator.readingLocks")} />}
          {data?.locks.length === 0 && (
            <div className="nothing">
              <Icon name="lock" />
              <p>{say("operator.nothingLocked")}</p>
              <p className="soft small">{say("operator.lockedHint")}</p>
            </div>
          )}
          <ul className="plain locks">
            {data?.locks.map((lock) => (
              <li
                key={`${lock.origin} ${lock.telephone ?? lock.account}`}
                className="row spread nowrap"
              >
                <span>
                  <strong dir="auto">{lock.account}</strong>
                  <span className="soft small block">
                    {say("operator.lock", {
                      failures: lock.failures,
                      origin: lock.origin,
                      when: ago(lock.until),
                    })}
                  </span>
                </span>
                <button
                  type="button"
                  aria-label={say("operator.unlockOne", { name: lock.account })}
                  onClick={() => unlock(lock.account, lock.telephone)}
                >
                  {say("operator.unlock")}
                </button>
              </li>
            ))}
          </ul>
        </section>
        <form className="card stack" onSubmit={submit}>
          <h2>{say("operator.unlockByName")}</h2>
          <label>
            {say("operator.accountId")}
            <input
              value={account}
              placeholder="C…"
              autoComplete="off"
              onChange={(event) => setAccount(event.target.value)}
            />
          </label>
          <button className="primary" type="submit" disabled={!account.trim()}>
            {say("operator.unlock")}
          </button>
        </form>
      </div>
      <KeyRequestsCard />
    </div>
  );
}
