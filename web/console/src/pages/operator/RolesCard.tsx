import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago, short } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Say, say } from "../../words";
import { ask } from "./api";
import { didExample, operatorsPath, roleName, roles, roleWords } from "./people";
import type { Operator, Role } from "./people";

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
    <section className="card stack" aria-label={say("operator.roles")}>
      <h2>{say("operator.roles")}</h2>
      <Problem error={error} />
      {isOwner && (
        <form className="stack" onSubmit={give}>
          <label>
            {say("operator.roleDid")}
            <input
              required
              autoComplete="off"
              dir="auto"
              placeholder={didExample}
              value={did}
              onChange={(event) => setDid(event.target.value)}
            />
          </label>
          <label>
            {say("operator.roleNote")}
            <input
              maxLength={200}
              autoComplete="off"
              value={note}
              onChange={(event) => setNote(event.target.value)}
            />
          </label>
          <label>
            {say("operator.role")}
            <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {roles.map((one) => (
                <option key={one} value={one}>
                  {say(roleWords[one])}
                </option>
              ))}
            </select>
          </label>
          <p>
            <button type="submit" disabled={isBusy || did.trim() === ""}>
              {say("operator.roleGive")}
            </button>
          </p>
        </form>
      )}
      {operators.length === 0 && <p className="soft">{say("operator.roleNobody")}</p>}
      {operators.length > 0 && (
        <ul {...kept} className="plain locks" aria-label={say("operator.roleHolders")}>
          {operators.map((one) => {
            const name = one.note || short(one.did, 16, 6);
            return (
              <li key={one.did} className="row spread nowrap">
                <span>
                  <strong dir="auto">{name}</strong>{" "}
                  <span className="badge good">{roleName(one.role)}</span>
                  <span className="soft small block">
                    <Say
                      id={one.did === me.name ? "operator.roleYours" : "operator.roleSince"}
                      values={{
                        did: <span className="mono">{short(one.did, 16, 6)}</span>,
                        when: ago(one.added),
                      }}
                    />
                  </span>
                </span>
                {isOwner && one.did !== me.name && (
                  <button
                    type="button"
                    className="danger"
                    disabled={isBusy}
                    aria-label={say("operator.roleTakeOne", { name })}
                    onClick={() => run(() => ask(session, pathOf(one.did), "DELETE"))}
                  >
                    {say("operator.roleTake")}
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
