import { lazy, Suspense, useState } from "react";
import { Boundary } from "../shell/Boundary";
import { messageOf } from "../shell/format";
import { LanguageMenu } from "../shell/LanguageMenu";
import { Mark } from "../shell/Shell";
import { makeKey, type KeptKey } from "./vault";
import { loadWords, say } from "../words";

// Most people make a key.
const BringKey = lazy(
  async () => (await Promise.all([import("./BringKey"), loadWords("bring")]))[0],
);

/** The first page: a key made here, or one brought along. No account, no mail. */
export function SignIn({ onKey }: { onKey: (key: KeptKey) => void }) {
  const [isBringing, setBringing] = useState(false);
  const [error, setError] = useState("");

  async function run(work: () => Promise<KeptKey>) {
    setError("");
    try {
      onKey(await work());
    } catch (cause) {
      setError(messageOf(cause));
    }
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
        <details onToggle={(event) => event.currentTarget.open && setBringing(true)}>
          <summary>{say("identity.haveKey")}</summary>
          {isBringing && (
            <Boundary fallback={(problem) => <p role="alert">{problem}</p>}>
              <Suspense fallback={<p className="soft">{say("shell.loading")}</p>}>
                <BringKey run={(work) => void run(work)} />
              </Suspense>
            </Boundary>
          )}
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
