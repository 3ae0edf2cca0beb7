import { useState, type FormEvent } from "react";
import { Mark } from "../shell/Shell";
import { bringKey, makeKey, type KeptKey } from "./vault";

/** The first page: a key made here, or one brought along. No account, no mail. */
export function SignIn({ onKey }: { onKey: (key: KeptKey) => void }) {
  const [pasted, setPasted] = useState("");
  const [error, setError] = useState("");

  async function run(work: () => Promise<KeptKey>) {
    setError("");
    try {
      onKey(await work());
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause));
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
        <h1>Welcome to Castalia</h1>
        <p className="soft">
          Your key is your account. Make one in this browser, or bring the one you have.
        </p>
        <button className="primary wide" type="button" onClick={() => void run(makeKey)}>
          Make a key and enter
        </button>
        <details>
          <summary>I have a key</summary>
          <form onSubmit={paste}>
            <label>
              Your key, 64 hexadecimal digits
              <input
                type="password"
                autoComplete="off"
                value={pasted}
                onChange={(event) => setPasted(event.target.value)}
              />
            </label>
            <button type="submit" disabled={pasted.trim() === ""}>
              Enter with this key
            </button>
          </form>
        </details>
        {error && (
          <p role="alert" className="notice bad">
            {error}
          </p>
        )}
        <p className="soft small">
          The key stays in this browser. Save a copy on the About page to use it elsewhere. Anyone
          with this key can act as you. If you lose it, it cannot be recovered.
        </p>
      </div>
    </main>
  );
}
