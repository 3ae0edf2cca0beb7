import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { Dialog } from "../../../shell/Dialog";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask } from "../api";
import { accountPath, type Account } from "./phones";

/** An E.164 number. */
const example = "+254…";

/** Gives an account another telephone. */
export function MoveAccount({ account, onClose }: { account: Account; onClose: () => void }) {
  const session = useSession();
  const doing = useDoing([]);
  const [typed, setTyped] = useState("");
  const phoneNumber = typed.replaceAll(/[\s().-]/g, "");
  function move(event: FormEvent) {
    event.preventDefault();
    doing.run(async () => {
      await ask(session, `${accountPath(account.account)}/move`, "POST", { phoneNumber });
      onClose();
    });
  }
  return (
    <Dialog title={say("phones.moveAsk", { account: account.account })} onClose={onClose}>
      <form className="stack" onSubmit={move}>
        <p>{say("phones.moveHint")}</p>
        <Problem error={doing.error} />
        <label>
          {say("phones.newNumber")}
          <input
            type="tel"
            dir="ltr"
            autoComplete="off"
            maxLength={40}
            placeholder={example}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
        <div className="row end">
          <button type="button" onClick={onClose}>
            {say("shell.cancel")}
          </button>
          <button type="submit" className="danger" disabled={doing.isBusy || !phoneNumber}>
            {say("phones.move")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
