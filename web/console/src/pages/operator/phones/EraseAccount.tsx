import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { Dialog } from "../../../shell/Dialog";
import { moment } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask } from "../api";
import { accountPath, actorOf, erasedOf, type Account, type Receipt } from "./phones";

/** Erases an account once its name is typed, and shows the receipt. */
export function EraseAccount({ account, onClose }: { account: Account; onClose: () => void }) {
  const session = useSession();
  const queries = useQueryClient();
  // The row goes with the account, and this with the row: it is asked for when the receipt is read.
  const doing = useDoing();
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<Receipt>();
  const { account: id } = account;
  function erase(event: FormEvent) {
    event.preventDefault();
    doing.run(async () =>
      setReceipt(await ask<Receipt>(session, `${accountPath(id)}/erase`, "POST")),
    );
  }
  function close() {
    onClose();
    if (receipt) void queries.invalidateQueries();
  }
  return (
    <Dialog
      title={say(receipt ? "phones.erasedAccount" : "phones.eraseAsk", { account: id })}
      onClose={close}
    >
      <Problem error={doing.error} />
      {receipt ? (
        <div className="stack" role="status">
          <p>{say("phones.erasedWhat", { what: erasedOf(receipt) })}</p>
          <p>{say(receipt.telephone ? "phones.erasedNumber" : "phones.keptNumber")}</p>
          <p className="soft small">
            {say("phones.erasedBy", {
              by: actorOf(receipt.by),
              when: moment(receipt.erasedAt),
            })}
          </p>
          <div className="row end">
            <button type="button" onClick={close}>
              {say("phones.closeReceipt")}
            </button>
          </div>
        </div>
      ) : (
        <form className="stack" onSubmit={erase}>
          <p>{say("phones.eraseHint")}</p>
          <label>
            {say("phones.eraseConfirm", { account: id })}
            <input
              autoComplete="off"
              dir="ltr"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
          <div className="row end">
            <button type="button" onClick={close}>
              {say("shell.cancel")}
            </button>
            <button
              type="submit"
              className="danger"
              disabled={doing.isBusy || typed.trim().toUpperCase() !== id}
            >
              {say("phones.erase")}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
