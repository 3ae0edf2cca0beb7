import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { Dialog } from "../../shell/Dialog";
import { number } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { saveAs } from "../../shell/save";
import { say } from "../../words";
import { ask, askBlob } from "./api";
import {
  confirmLength,
  exportName,
  lossesOf,
  nameOf,
  personPath,
  receiptOf,
  type ErasedPerson,
  type Person,
} from "./people";

/** Offers an export of a person, and erases them once the end of their DID is typed. */
export function ErasePerson({ person, onClose }: { person: Person; onClose: () => void }) {
  const session = useSession();
  const exporting = useDoing();
  const erasing = useDoing([]);
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<ErasedPerson>();
  const name = nameOf(person);
  const end = person.did.slice(-confirmLength);
  function erase(event: FormEvent) {
    event.preventDefault();
    erasing.run(async () => {
      let all: ErasedPerson | undefined;
      // One request works for a while only; the same one again goes on.
      for (;;) {
        const part = await ask<ErasedPerson>(session, `${personPath(person)}/erase`, "POST", {
          confirm: typed.trim(),
        });
        all = receiptOf(all, part);
        setReceipt(all);
        if (part.done) return;
      }
    });
  }
  const keep = async () =>
    saveAs(await askBlob(session, `${personPath(person)}/export`, "POST"), exportName(person));
  return (
    <Dialog title={receipt?.done ? name : say("operator.eraseAsk", { name })} onClose={onClose}>
      <Problem error={erasing.error || exporting.error} />
      {receipt?.done ? (
        <div className="stack" role="status">
          <p>{say("operator.eraseDone")}</p>
          <ul>
            {Object.entries(receipt.erased).map(([name, n]) => (
              <li key={name} dir="auto">
                {number(n)} {name}
              </li>
            ))}
          </ul>
          {lossesOf(receipt).map((text) => (
            <p key={text}>{text}</p>
          ))}
          {receipt.lost?.length ? (
            <ul>
              {receipt.lost.map((id) => (
                <li key={id} dir="ltr">
                  <code>{id}</code>
                </li>
              ))}
            </ul>
          ) : null}
          {receipt.unrevoked?.length ? (
            <>
              <p>{say("operator.eraseUnrevoked")}</p>
              <ul>
                {receipt.unrevoked.map((text) => (
                  <li key={text} dir="auto">
                    {text}
                  </li>
                ))}
              </ul>
            </>
          ) : null}
          <p>{say("operator.eraseStays")}</p>
          <ul>
            {receipt.stays.map((text) => (
              <li key={text} dir="auto">
                {text}
              </li>
            ))}
          </ul>
          <div className="row end">
            <button type="button" onClick={onClose}>
              {say("operator.eraseClose")}
            </button>
          </div>
        </div>
      ) : (
        <form className="stack" onSubmit={erase}>
          <p>{say("operator.eraseHint")}</p>
          <p>
            <button type="button" disabled={exporting.isBusy} onClick={() => exporting.run(keep)}>
              <Icon name="download" /> {say("operator.eraseExport")}
            </button>
          </p>
          <label>
            {say("operator.eraseConfirm", { end })}
            <input
              autoComplete="off"
              dir="ltr"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </label>
          <div className="row end">
            <button type="button" onClick={onClose}>
              {say("shell.cancel")}
            </button>
            <button
              type="submit"
              className="danger"
              disabled={erasing.isBusy || !isEnd(person, typed)}
            >
              {say(erasing.isBusy ? "operator.erasing" : "operator.erase")}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

function isEnd({ did }: Person, typed: string): boolean {
  const end = typed.trim();
  return end.length >= confirmLength && did.endsWith(end);
}
