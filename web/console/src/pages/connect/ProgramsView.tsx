import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
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
      <p className="soft">{say("connect.programsWhat")}</p>
      <Problem error={doing.error || error} />
      <section className="card" aria-label={say("connect.addressAndKey")}>
        <h2>{say("connect.address")}</h2>
        <p className="with-copy">
          <span className="mono" dir="auto">{`${origin}/v1`}</span>
          <CopyButton text={`${origin}/v1`} label={say("connect.copyAddress")} />
        </p>
        <h2>{say("connect.key")}</h2>
        <p className="soft">{say("connect.keyHint")}</p>
        <form className="row" onSubmit={make}>
          <label>
            {say("connect.keyFor")}
            <input
              value={name}
              required
              maxLength={40}
              pattern="[a-z0-9._\-]+"
              title={say("connect.keyNameHint")}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          <label>
            {say("connect.keyUntil")}
            <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
              <option value={30}>{say("connect.inMonth")}</option>
              <option value={90}>{say("connect.inThreeMonths")}</option>
              <option value={365}>{say("connect.inYear")}</option>
            </select>
          </label>
          <button type="submit" className="primary" disabled={doing.isBusy}>
            {say("connect.makeKey")}
          </button>
        </form>
        {made && (
          <div className="notice" role="status">
            <p className="with-copy">
              <span className="mono" dir="auto">
                {made}
              </span>
              <CopyButton text={made} label={say("connect.copyKey")} />
            </p>
            <p className="small">{say("connect.keyOnce")}</p>
          </div>
        )}
        {live.length > 0 && (
          <ul className="plain keys" aria-label={say("connect.yourKeys")}>
            {live.map((key) => (
              <li key={key.id}>
                <span className="grow">
                  <span dir="auto">{key.name}</span>{" "}
                  <span className="soft small">
                    {key.lastUsed
                      ? say("connect.keyUsed", { ends: ago(key.expires), used: ago(key.lastUsed) })
                      : say("connect.keyUnused", { ends: ago(key.expires) })}
                  </span>
                </span>
                <button
                  type="button"
                  disabled={doing.isBusy}
                  aria-label={say("connect.revokeOne", { name: key.name })}
                  onClick={() => doing.run(() => revokeKey(session, key.id))}
                >
                  {say("connect.revoke")}
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {programs().map((program, n) => {
        const text = program.text(origin, made || placeholder);
        return (
          <section key={program.name} className="card" aria-labelledby={`program-${n}`}>
            <div className="program-head">
              <h2 id={`program-${n}`} dir="auto">
                {program.name}
              </h2>
              <CopyButton
                text={text}
                label={say("connect.copySettings", { program: program.name })}
              />
            </div>
            <p className="soft">{program.how}</p>
            <pre dir="ltr" tabIndex={0}>
              {text}
            </pre>
          </section>
        );
      })}
    </>
  );
}
