import type { ReactNode } from "react";
import { CopyButton } from "../../../shell/CopyButton";
import { date, short } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import { say } from "../../../words";
import { readEntity } from "./entity";

/** An entity of the chain, as an answer shows it: who it is, and what it offers. */
export function EntityCard(props: Record<string, unknown>) {
  const entity = readEntity(props);
  if (!entity) {
    return (
      <p className={props["isLoading"] === true ? "soft" : "notice bad"}>
        {props["isLoading"] === true ? say("conversation.looking") : say("conversation.noEntity")}
      </p>
    );
  }
  const { id, name, type, services, resources, controllers } = entity;
  const query = new URLSearchParams({ route: "/entity/{id}", id });
  return (
    <section
      className="card entity-card"
      aria-label={say("conversation.entity", { name: name || id })}
    >
      <header className="row spread">
        <strong dir="auto">{name || short(id, 20, 6)}</strong>
        <span className="row">
          {type && (
            <span className="badge" dir="auto">
              {type}
            </span>
          )}
          {entity.isVerified && (
            <span className="badge good">
              <Icon name="check" /> {say("conversation.verified")}
            </span>
          )}
        </span>
      </header>
      <dl className="facts small">
        <Fact term={say("conversation.did")}>
          <span className="with-copy">
            <span className="mono" dir="auto">
              {id}
            </span>
            <CopyButton text={id} label={say("conversation.copyDid")} />
          </span>
        </Fact>
        {entity.status && (
          <Fact term={say("conversation.status")}>
            <span dir="auto">{entity.status}</span>
          </Fact>
        )}
        {entity.from && (
          <Fact term={say("conversation.valid")}>
            {entity.until
              ? say("conversation.validBetween", {
                  from: date(entity.from),
                  until: date(entity.until),
                })
              : say("conversation.validSince", { from: date(entity.from) })}
          </Fact>
        )}
        {controllers.length > 0 && (
          <Fact term={say("conversation.controlledBy")}>
            <span className="mono" title={controllers.join("\n")} dir="auto">
              {controllers.map((c) => short(c, 20, 6)).join(", ")}
            </span>
          </Fact>
        )}
        {services.map((s) => (
          <Fact key={s.name} term={<span dir="auto">{s.type || s.name}</span>}>
            <span className="mono" dir="auto">
              {s.endpoint}
            </span>
          </Fact>
        ))}
      </dl>
      <footer className="row spread">
        {resources.length > 0 ? (
          <details className="small">
            <summary>{say("conversation.linkedResources", { n: resources.length })}</summary>
            <ul>
              {resources.map((r) => (
                <li key={r.name}>
                  <span dir="auto">{r.about}</span>{" "}
                  <span className="soft mono" dir="auto">
                    #{r.name}
                  </span>
                  {r.isEncrypted && <span className="soft"> {say("conversation.encrypted")}</span>}
                </li>
              ))}
            </ul>
          </details>
        ) : (
          <span />
        )}
        <Link className="button" to={`query?${query}`}>
          {say("conversation.openInQuery")}
        </Link>
      </footer>
    </section>
  );
}

function Fact({ term, children }: { term: ReactNode; children: ReactNode }) {
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}
