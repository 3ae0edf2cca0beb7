import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { ago, messageOf, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Skeleton } from "../../shell/Skeleton";
import { ask, useLook } from "./api";
import { Problem } from "./parts";

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

/** Accounts and telephones that wrong PINs locked, and how to open them again. */
export function AccountsView() {
  const { data, error, again } = useLook<{ locks: Lock[] }>("/operator/ussd/locks");
  const session = useSession();
  const [account, setAccount] = useState("");
  const list = useKeptFocus<HTMLElement>();
  const [said, setSaid] = useState<{ good: boolean; text: string }>();
  async function unlock(name: string, telephone?: string) {
    try {
      if (telephone) {
        await ask(session, "/operator/ussd/telephones/unlock", "POST", { telephone });
      } else
        await ask(session, `/operator/ussd/accounts/${encodeURIComponent(name)}/unlock`, "POST");
      setSaid({ good: true, text: `${name} can try again.` });
      setAccount("");
    } catch (cause) {
      setSaid({ good: false, text: messageOf(cause) });
    }
    again();
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    if (account.trim()) void unlock(account.trim());
  }
  return (
    <div className="stack">
      {said && (
        <p role="status" className={said.good ? "notice good" : "notice bad"}>
          {said.text}
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
                  onClick={() => void unlock(lock.account, lock.telephone)}
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
