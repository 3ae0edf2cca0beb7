import type { ReactNode } from "react";
import { CopyButton } from "../../../shell/CopyButton";
import { date, plural, short } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import { readEntity } from "./entity";

/** An entity of the chain, as an answer shows it: who it is, and what it offers. */
export function EntityCard(props: Record<string, unknown>) {
  const entity = readEntity(props);
  if (!entity) {
    return (
      <p className={props["isLoading"] === true ? "soft" : "notice bad"}>
        {props["isLoading"] === true ? "Looking…" : "This is no entity of the chain."}
      </p>
    );
  }
  const { id, name, type, services, resources, controllers } = entity;
  const query = new URLSearchParams({ route: "/entity/{id}", id });
  return (
    <section className="card entity-card" aria-label={`Entity ${name || id}`}>
      <header className="row spread">
        <strong>{name || short(id, 20, 6)}</strong>
        <span className="row">
          {type && <span className="badge">{type}</span>}
          {entity.isVerified && (
            <span className="badge good">
              <Icon name="check" /> verified
            </span>
          )}
        </span>
      </header>
      <dl className="facts small">
        <Fact term="DID">
          <span className="with-copy">
            <span className="mono">{id}</span>
            <CopyButton text={id} label="Copy the DID" />
          </span>
        </Fact>
        {entity.status && <Fact term="Status">{entity.status}</Fact>}
        {entity.from && (
          <Fact term="Valid">
            {entity.until
              ? `${date(entity.from)} to ${date(entity.until)}`
              : `since ${date(entity.from)}`}
          </Fact>
        )}
        {controllers.length > 0 && (
          <Fact term="Controlled by">
            <span className="mono" title={controllers.join("\n")}>
              {controllers.map((c) => short(c, 20, 6)).join(", ")}
            </span>
          </Fact>
        )}
        {services.map((s) => (
          <Fact key={s.name} term={s.type || s.name}>
            <span className="mono">{s.endpoint}</span>
          </Fact>
        ))}
      </dl>
      <footer className="row spread">
        {resources.length > 0 ? (
          <details className="small">
            <summary>{plural(resources.length, "linked resource")}</summary>
            <ul>
              {resources.map((r) => (
                <li key={r.name}>
                  {r.about} <span className="soft mono">#{r.name}</span>
                  {r.isEncrypted && <span className="soft"> (encrypted)</span>}
                </li>
              ))}
            </ul>
          </details>
        ) : (
          <span />
        )}
        <Link className="button" to={`query?${query}`}>
          Open in Query
        </Link>
      </footer>
    </section>
  );
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}
