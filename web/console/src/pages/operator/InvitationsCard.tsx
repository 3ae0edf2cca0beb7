import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago, duration, list } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { ask, useLook } from "./api";
import { invitationsPath, usesOf, type Invitation } from "./people";

const day = 86_400;

/** Invitations: one is made for so many people and so long; its link is told once. */
export function InvitationsCard({ mayChange }: { mayChange: boolean }) {
  const session = useSession();
  const { data, error } = useLook<{ invitations: Invitation[] }>(
    `${invitationsPath}?limit=50`,
    15_000,
  );
  const { run, isBusy, error: refusal } = useDoing([]);
  const [maxUses, setMaxUses] = useState(1);
  const [days, setDays] = useState(7);
  const [note, setNote] = useState("");
  const [link, setLink] = useState("");
  const kept = useKeptFocus<HTMLUListElement>();
  function make(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const wanted = { maxUses, expiresIn: days * day, note: note.trim() };
      const made = await ask<{ path: string }>(session, invitationsPath, "POST", wanted);
      setLink(new URL(made.path, location.origin).href);
      setNote("");
    });
  }
  const withdraw = ({ id }: Invitation) =>
    run(() => ask(session, `${invitationsPath}/${encodeURIComponent(id)}`, "DELETE"));
  return (
    <section
      className="card stack"
      aria-label={say("operator.invitations")}
      aria-busy={!data && !error}
    >
      <h2>{say("operator.invitations")}</h2>
      <Problem error={refusal || error} />
      {mayChange && (
        <form className="stack" onSubmit={make}>
          <label>
            {say("operator.invitationFor")}
            <input
              maxLength={200}
              autoComplete="off"
              placeholder={say("operator.invitationForExample")}
              value={note}
              onChange={(event) => setNote(event.target.value)}
            />
          </label>
          <div className="row">
            <label>
              {say("operator.invitationHowMany")}
              <input
                type="number"
                min={1}
                max={10_000}
                required
                value={maxUses}
                onChange={(event) => setMaxUses(event.target.valueAsNumber)}
              />
            </label>
            <label>
              {say("operator.invitationHowLong")}
              <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
                <option value={1}>{say("operator.invitationDay")}</option>
                <option value={7}>{say("operator.invitationWeek")}</option>
                <option value={30}>{duration(30 * day)}</option>
                <option value={90}>{duration(90 * day)}</option>
              </select>
            </label>
          </div>
          <p>
            <button type="submit" className="primary" disabled={isBusy}>
              {say("operator.invitationMake")}
            </button>
          </p>
        </form>
      )}
      <div role="status">
        {link && (
          <div className="notice">
            <p className="with-copy">
              <span className="mono invitation-link" dir="auto">
                {link}
              </span>
              <CopyButton text={link} label={say("operator.invitationCopy")} />
            </p>
            <p className="small">{say("operator.invitationOnce")}</p>
          </div>
        )}
      </div>
      {!data && !error && <Skeleton lines={3} label={say("operator.invitationsReading")} />}
      {data?.invitations.length === 0 && <p className="soft">{say("operator.invitationNone")}</p>}
      {data && data.invitations.length > 0 && (
        <ul {...kept} className="plain locks" aria-label={say("operator.invitationsNewest")}>
          {data.invitations.map((one) => (
            <li key={one.id} className="row spread nowrap">
              <span>
                {one.note ? (
                  <strong dir="auto">{one.note}</strong>
                ) : (
                  <strong>{say("operator.invitationForNobody")}</strong>
                )}
                <span className="soft small block">
                  {one.over
                    ? usesOf(one)
                    : list([
                        usesOf(one),
                        say("operator.invitationEnds", { when: ago(one.expires) }),
                      ])}
                </span>
              </span>
              {mayChange && !one.over && (
                <button
                  type="button"
                  className="danger"
                  disabled={isBusy}
                  aria-label={
                    one.note
                      ? say("operator.invitationWithdrawOne", { name: one.note })
                      : say("operator.invitationWithdrawAny")
                  }
                  onClick={() => withdraw(one)}
                >
                  {say("operator.invitationWithdraw")}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
