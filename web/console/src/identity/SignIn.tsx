import { useState, type ChangeEvent, type FormEvent } from "react";
import { messageOf } from "../shell/format";
import { LanguageMenu } from "../shell/LanguageMenu";
import { Mark } from "../shell/Shell";
import { bringKey, makeKey, type KeptKey } from "./vault";
import { say } from "../words";

/** No key is longer, in bytes. */
const longest = 1024;

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
  function open(event: ChangeEvent<HTMLInputElement>) {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file) void run(async () => bringKey(await file.slice(0, longest).text()));
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
            <label className="button">
              {say("identity.keyFile")}
              <input type="file" className="visually-hidden" onChange={open} />
            </label>
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
