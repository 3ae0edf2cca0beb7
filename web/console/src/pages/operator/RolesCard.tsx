import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago, short } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { ask } from "./api";
import { operatorsPath, roles, roleWords, type Operator, type Role } from "./people";

/** Who has a role here. Owners give and take them, but for their own. */
export function RolesCard(props: { operators: Operator[]; me: { name: string; role: Role } }) {
  const { operators, me } = props;
  const session = useSession();
  const { run, isBusy, error } = useDoing([]);
  const [did, setDid] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [note, setNote] = useState("");
  const kept = useKeptFocus<HTMLUListElement>();
  const pathOf = (one: string) => `${operatorsPath}/${encodeURIComponent(one)}`;
  function give(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      await ask(session, pathOf(did.trim()), "PUT", { role, note: note.trim() });
      setDid("");
      setNote("");
    });
  }
  const isOwner = me.role === "owner";
  return (
    <section className="card stack" aria-label="Roles">
      <h2>Roles</h2>
      <Problem error={error} />
      {isOwner && (
        <form className="stack" onSubmit={give}>
          <label>
            DID of the operator
            <input
              required
              autoComplete="off"
              placeholder="did:key:…"
              value={did}
              onChange={(event) => setDid(event.target.value)}
            />
          </label>
          <label>
            Name of the operator
            <input
              maxLength={200}
              autoComplete="off"
              value={note}
              onChange={(event) => setNote(event.target.value)}
            />
          </label>
          <label>
            Role
            <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {roles.map((one) => (
                <option key={one} value={one}>
                  {roleWords[one]}
                </option>
              ))}
            </select>
          </label>
          <p>
            <button type="submit" disabled={isBusy || did.trim() === ""}>
              Give the role
            </button>
          </p>
        </form>
      )}
      {operators.length === 0 && (
        <p className="soft">Nobody has a role: this server is run by its token or on the spot.</p>
      )}
      {operators.length > 0 && (
        <ul {...kept} className="plain locks" aria-label="Who has a role">
          {operators.map((one) => {
            const name = one.note || short(one.did, 16, 6);
            return (
              <li key={one.did} className="row spread nowrap">
                <span>
                  <strong>{name}</strong> <span className="badge good">{one.role}</span>
                  <span className="soft small block">
                    {one.did === me.name ? "you, " : ""}
                    <span className="mono">{short(one.did, 16, 6)}</span>, {ago(one.added)}
                  </span>
                </span>
                {isOwner && one.did !== me.name && (
                  <button
                    type="button"
                    className="danger"
                    disabled={isBusy}
                    aria-label={`Take the role of ${name} away`}
                    onClick={() => run(() => ask(session, pathOf(one.did), "DELETE"))}
                  >
                    Take away
                  </button>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}
