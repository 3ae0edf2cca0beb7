import { useState } from "react";
import type { Session } from "../../identity/session";
import { once, useAsked } from "../../shell/asked";
import { go } from "../../shell/router";
import { Mark } from "../../shell/Shell";
import { codeOf, redeem } from "./redeem";
import { say } from "../../words";

/** Redeems the invitation in the address, then opens the console. */
export default function InvitePage({ session }: { session: Session }) {
  const [code] = useState(() => codeOf(location.hash));
  const { error, again } = useAsked({
    queryKey: ["redeem", code],
    queryFn: async ({ signal }) => {
      await redeem(session, code);
      if (!signal.aborted) go("chat");
      return true;
    },
    enabled: code !== "",
    ...once,
  });
  const problem = code ? error : say("invite.copyAgain");
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <div className="sign-in-mark">
          <Mark />
        </div>
        <h1>{say(code ? "invite.yours" : "invite.incomplete")}</h1>
        {problem ? <p role="alert">{problem}</p> : <p role="status">{say("invite.oneMoment")}</p>}
        {code && error && (
          <button className="primary wide" type="button" onClick={() => void again()}>
            {say("shell.tryAgain")}
          </button>
        )}
      </div>
    </main>
  );
}
