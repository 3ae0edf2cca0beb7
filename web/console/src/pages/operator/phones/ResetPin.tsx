import { useState } from "react";
import { useSession } from "../../../identity/session";
import { once, useAsked, useDoing } from "../../../shell/asked";
import { CopyButton } from "../../../shell/CopyButton";
import { Dialog } from "../../../shell/Dialog";
import { moment } from "../../../shell/format";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask } from "../api";
import type { Settings } from "../settings";
import { accountPath, type Account, type Told } from "./phones";

/** Makes the code with which a caller sets a new PIN, and shows it once. */
export function ResetPin({ account, onClose }: { account: Account; onClose: () => void }) {
  const session = useSession();
  const doing = useDoing([]);
  const [told, setTold] = useState<Told>();
  const settings = useAsked<Settings>({
    queryKey: ["/operator/settings"],
    queryFn: () => ask<Settings>(session, "/operator/settings"),
    ...once,
  });
  const sends = settings.data?.settings.some((s) => s.name === "SMS_GATEWAY" && s.value !== "");
  const { account: id, did } = account;
  const make = (path: string) =>
    doing.run(async () => setTold(await ask<Told>(session, `${accountPath(id)}/${path}`, "POST")));
  return (
    <Dialog title={say("phones.resetAsk", { account: id })} onClose={onClose}>
      <Problem error={doing.error} />
      {told ? (
        <div className="stack" role="status">
          <p>
            {told.sent
              ? say("phones.resetTellRest", { count: told.sent })
              : say("phones.resetTell")}
          </p>
          <dl className="facts">
            <dt>{say("phones.code")}</dt>
            <dd className="mono with-copy">
              <strong dir="ltr">{told.code}</strong>
              <CopyButton text={told.code} label={say("phones.copyCode")} />
            </dd>
            <dt>{say("phones.codeEnds")}</dt>
            <dd>{moment(told.expiresAt)}</dd>
          </dl>
          <p className="soft small">{say("phones.resetOnce")}</p>
          <div className="row end">
            <button type="button" onClick={onClose}>
              {say("phones.done")}
            </button>
          </div>
        </div>
      ) : (
        <>
          <p>{say("phones.resetHint")}</p>
          {did && <p>{say("phones.resetUnlinks")}</p>}
          {sends && <p className="soft small">{say("phones.resetBySmsHint")}</p>}
          <div className="row end">
            <button type="button" onClick={onClose}>
              {say("shell.cancel")}
            </button>
            {sends && (
              <button type="button" disabled={doing.isBusy} onClick={() => make("reset-pin/sms")}>
                {say("phones.resetBySms")}
              </button>
            )}
            <button
              type="button"
              className="primary"
              disabled={doing.isBusy}
              onClick={() => make("reset-pin")}
            >
              {say("phones.resetShow")}
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
