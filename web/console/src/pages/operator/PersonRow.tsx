import { useState } from "react";
import { CopyButton } from "../../shell/CopyButton";
import { short } from "../../shell/format";
import { say } from "../../words";
import { ErasePerson } from "./ErasePerson";
import { nameOf, standingOf, type Person } from "./people";
import { QuotaForm } from "./QuotaForm";

/** One of the people, with what operators may do about them. */
export function PersonRow(props: {
  person: Person;
  mayChange: boolean;
  isBusy: boolean;
  onBlock: () => void;
}) {
  const { person, mayChange, isBusy } = props;
  const [isOpen, setOpen] = useState(false);
  const [isErasing, setErasing] = useState(false);
  const name = nameOf(person);
  return (
    <li>
      <div className="row spread">
        <span className="grow">
          <strong dir="auto">{name}</strong>{" "}
          {person.blocked && <span className="badge bad">{say("operator.personBlocked")}</span>}
          <span className="soft small with-copy">
            {person.note && <span className="mono">{short(person.did, 16, 6)}</span>}
            <CopyButton text={person.did} label={say("operator.personCopyDid", { name })} />
          </span>
          <span className="soft small block">{standingOf(person)}</span>
        </span>
        <span className="row">
          <button
            type="button"
            className="quiet"
            aria-expanded={isOpen}
            aria-label={say("operator.quotaShowOne", { name })}
            onClick={() => setOpen(!isOpen)}
          >
            {say("operator.quotaShow")}
          </button>
          {mayChange && (person.blocked || !person.role) && (
            <button
              type="button"
              className={person.blocked ? "" : "danger"}
              aria-disabled={isBusy} // one that is disabled loses the focus
              aria-label={say(
                person.blocked ? "operator.personUnblockOne" : "operator.personBlockOne",
                { name },
              )}
              onClick={() => !isBusy && props.onBlock()}
            >
              {say(person.blocked ? "operator.personUnblock" : "operator.personBlock")}
            </button>
          )}
          {mayChange && !person.role && (
            <button
              type="button"
              className="danger"
              aria-label={say("operator.eraseOne", { name })}
              onClick={() => setErasing(true)}
            >
              {say("operator.eraseMenu")}
            </button>
          )}
        </span>
      </div>
      {isErasing && <ErasePerson person={person} onClose={() => setErasing(false)} />}
      {isOpen && <QuotaForm person={person} mayChange={mayChange} />}
    </li>
  );
}
