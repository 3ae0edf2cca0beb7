import { useState, type FormEvent } from "react";
import { Icon } from "../../../shell/icons";
import { say } from "../../../words";

/** A name to add. */
export function Adding(props: { label: string; taken: string[]; onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const isFree = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/.test(name) && !props.taken.includes(name);
  function add(event: FormEvent) {
    event.preventDefault();
    if (!isFree) return;
    props.onAdd(name);
    setName("");
  }
  return (
    <form className="row menu-adding" onSubmit={add}>
      <label className="small">
        {props.label}
        <input
          value={name}
          placeholder={say("menu.shortName")}
          autoComplete="off"
          onChange={(event) => setName(event.target.value.trim())}
        />
      </label>
      <button type="submit" disabled={!isFree}>
        <Icon name="plus" /> {say("menu.add")}
      </button>
    </form>
  );
}
