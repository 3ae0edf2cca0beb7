import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
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
    <section className="card stack" aria-label="Invitations" aria-busy={!data && !error}>
      <h2>Invitations</h2>
      <Problem error={refusal || error} />
      {mayChange && (
        <form className="stack" onSubmit={make}>
          <label>
            For whom
            <input
              maxLength={200}
              autoComplete="off"
              placeholder="the water committee"
              value={note}
              onChange={(event) => setNote(event.target.value)}
            />
          </label>
          <div className="row">
            <label>
              How many people
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
              For how long
              <select value={days} onChange={(event) => setDays(Number(event.target.value))}>
                <option value={1}>a day</option>
                <option value={7}>a week</option>
                <option value={30}>30 days</option>
                <option value={90}>90 days</option>
              </select>
            </label>
          </div>
          <p>
            <button type="submit" className="primary" disabled={isBusy}>
              Make an invitation
            </button>
          </p>
        </form>
      )}
      <div role="status">
        {link && (
          <div className="notice">
            <p className="with-copy">
              <span className="mono invitation-link">{link}</span>
              <CopyButton text={link} label="Copy the invitation" />
            </p>
            <p className="small">It is shown this once. Copy it now.</p>
          </div>
        )}
      </div>
      {!data && !error && <Skeleton lines={3} label="Reading the invitations" />}
      {data?.invitations.length === 0 && <p className="soft">Nobody was invited yet.</p>}
      {data && data.invitations.length > 0 && (
        <ul {...kept} className="plain locks" aria-label="The newest invitations">
          {data.invitations.map((one) => (
            <li key={one.id} className="row spread nowrap">
              <span>
                <strong>{one.note || "For nobody in particular"}</strong>
                <span className="soft small block">
                  {usesOf(one)}
                  {!one.over && `, ends ${ago(one.expires)}`}
                </span>
              </span>
              {mayChange && !one.over && (
                <button
                  type="button"
                  className="danger"
                  disabled={isBusy}
                  aria-label={`Withdraw the invitation for ${one.note || "nobody in particular"}`}
                  onClick={() => withdraw(one)}
                >
                  Withdraw
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
