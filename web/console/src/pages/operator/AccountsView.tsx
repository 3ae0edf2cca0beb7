import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { ask, useLook } from "./api";

interface Lock {
  account: string;
  /** own, other, or caller: a telephone that tried too many. */
  origin: string;
  /** What names a telephone; its number is masked. */
  telephone?: string;
  failures: number;
  until: string;
}

const guesses: Record<string, string> = {
  own: "from its own telephone",
  other: "from other telephones",
  caller: "by this telephone",
};

const locksPath = "/operator/ussd/locks";

/** Accounts and telephones that wrong PINs locked, and how to open them again. */
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
      {(refusal || opened) && (
        <p role="status" className={refusal ? "notice bad" : "notice good"}>
          {refusal || `${opened} can try again.`}
        </p>
      )}
      <div className="grid">
        <section
          {...list}
          className="card stack"
          aria-label="Locked accounts and telephones"
          aria-busy={!data && !error}
        >
          <h2>Locked accounts and telephones</h2>
          <Problem error={error} />
          {!data && !error && <Skeleton lines={3} label="Reading the locks" />}
          {data?.locks.length === 0 && (
            <div className="nothing">
              <Icon name="lock" />
              <p>Nothing is locked.</p>
              <p className="soft small">Wrong PINs lock an account or a telephone for a while.</p>
            </div>
          )}
          <ul className="plain locks">
            {data?.locks.map((lock) => (
              <li
                key={`${lock.origin} ${lock.telephone ?? lock.account}`}
                className="row spread nowrap"
              >
                <span>
                  <strong>{lock.account}</strong>
                  <span className="soft small block">
                    {plural(lock.failures, "wrong PIN")} {guesses[lock.origin] ?? lock.origin}.
                    Opens {ago(lock.until)}.
                  </span>
                </span>
                <button
                  type="button"
                  aria-label={`Unlock ${lock.account}`}
                  onClick={() => unlock(lock.account, lock.telephone)}
                >
                  Unlock
                </button>
              </li>
            ))}
          </ul>
        </section>
        <form className="card stack" onSubmit={submit}>
          <h2>Unlock by name</h2>
          <label>
            Account ID
            <input
              value={account}
              placeholder="C…"
              autoComplete="off"
              onChange={(event) => setAccount(event.target.value)}
            />
          </label>
          <button className="primary" type="submit" disabled={!account.trim()}>
            Unlock
          </button>
        </form>
      </div>
    </div>
  );
}
