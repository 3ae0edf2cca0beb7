import { useState, type FormEvent } from "react";
import { messageOf } from "../shell/format";
import { LanguageMenu } from "../shell/LanguageMenu";
import { Mark } from "../shell/Shell";
import { bringKey, makeKey, type KeptKey } from "./vault";
import { say } from "../words";

/** The first page: a key made here, or one brought along. No account, no mail. */
export function SignIn({ onKey }: { onKey: (key: KeptKey) => void }) {
  const [pasted, setPasted] = useState("");
  const [error, setError] = useState("");

  async function run(work: () => Promise<KeptKey>) {
    setError("");
    try {
      onKey(await work());
    } catch (cause) {
      setError(messageOf(cause));
    }
  }
  function paste(event: FormEvent) {
    event.preventDefault();
    void run(async () => bringKey(pasted));
  }

  return (
    <main className="sign-in">
      <div className="card">
        <div className="sign-in-mark">
          <Mark />
        </div>
        <h1>{say("identity.welcome")}</h1>
        <p className="soft">{say("identity.keyIsAccount")}</p>
        <button className="primary wide" type="button" onClick={() => void run(makeKey)}>
          {say("identity.makeKey")}
        </button>
        <details>
          <summary>{say("identity.haveKey")}</summary>
          <form onSubmit={paste}>
            <label>
              {say("identity.keyDigits")}
              <input
                type="password"
                autoComplete="off"
                value={pasted}
                onChange={(event) => setPasted(event.target.value)}
              />
            </label>
            <button type="submit" disabled={pasted.trim() === ""}>
              {say("identity.enterWithKey")}
            </button>
          </form>
        </details>
        {error && (
          <p role="alert" className="notice bad">
            {error}
          </p>
        )}
        <p className="soft small">{say("identity.keyStays")}</p>
        <LanguageMenu />
      </div>
    </main>
  );
}
