import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { listKeys, makeKey, revokeKey } from "./keys";
import { programs } from "./programs";

/** What stands where the key goes until there is one. */
const placeholder = "YOUR_APP_KEY";

/** What other programs have to be told to talk to this oracle. */
export function ProgramsView() {
  const session = useSession();
  const origin = location.origin;
  const { data: keys = [], error } = useAsked({
    queryKey: ["keys"],
    queryFn: () => listKeys(session),
  });
  const doing = useDoing(["keys"]);
  const [made, setMade] = useState("");
  const [name, setName] = useState("my-program");
  const [days, setDays] = useState(90);

  function make(event: FormEvent) {
    event.preventDefault();
    doing.run(async () => setMade(await makeKey(session, name.trim(), days)));
  }
  const live = keys.filter((key) => ["active", "spent"].includes(key.state));
  return (
    <>
      <p className="soft">
        Programs made for OpenAI talk to this oracle too. They need its address and a key.
      </p>
      <Problem error={doing.error || error} />
      <section className="card" aria-label="Address and key">
        <h2>Address</h2>
        <p className="with-copy">
          <span className="mono">{origin}/v1</span>
          <CopyButton text={`${origin}/v1`} label="Copy the address" />
        </p>
        <h2>Key</h2>
        <p className="soft">
          A program with the key speaks to the oracle as you, and can do nothing else. Make one for
          each.
        </p>
        <form className="row" onSubmit={make}>
          <label>
            For
            <input
              value={name}
              required
              maxLength={40}
              pattern="[a-z0-9._\-]+"
              title="Lower-case letters, digits, dots, dashes and underscores"
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          <label>
            Until
            <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
              <option value={30}>in a month</option>
              <option value={90}>in three months</option>
              <option value={365}>in a year</option>
            </select>
          </label>
          <button type="submit" className="primary" disabled={doing.isBusy}>
            Make a key
          </button>
        </form>
        {made && (
          <div className="notice" role="status">
            <p className="with-copy">
              <span className="mono">{made}</span>
              <CopyButton text={made} label="Copy the key" />
            </p>
            <p className="small">It is shown this once, and filled in below. Copy it now.</p>
          </div>
        )}
        {live.length > 0 && (
          <ul className="plain keys" aria-label="Your keys">
            {live.map((key) => (
              <li key={key.id}>
                <span className="grow">
                  {key.name}{" "}
                  <span className="soft small">
                    ends {ago(key.expires)},{" "}
                    {key.lastUsed ? `used ${ago(key.lastUsed)}` : "never used"}
                  </span>
                </span>
                <button
                  type="button"
                  disabled={doing.isBusy}
                  aria-label={`Revoke ${key.name}`}
                  onClick={() => doing.run(() => revokeKey(session, key.id))}
                >
                  Revoke
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {programs.map((program) => {
        const text = program.text(origin, made || placeholder);
        return (
          <section key={program.name} className="card" aria-label={program.name}>
            <div className="program-head">
              <h2>{program.name}</h2>
              <CopyButton text={text} label={`Copy the settings for ${program.name}`} />
            </div>
            <p className="soft">{program.how}</p>
            <pre tabIndex={0}>{text}</pre>
          </section>
        );
      })}
    </>
  );
}
