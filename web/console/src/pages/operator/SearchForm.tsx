import { useState, type FormEvent } from "react";
import { say } from "../../words";

/** Finds somebody, usually by how their DID or their note begins. */
export function SearchForm(props: {
  label: string;
  example?: string;
  onSearch: (words: string) => void;
}) {
  const [typed, setTyped] = useState("");
  function find(event: FormEvent) {
    event.preventDefault();
    props.onSearch(typed.trim());
  }
  return (
    <form role="search" aria-label={props.label} className="row settings-search" onSubmit={find}>
      <label className="grow">
        {props.label}
        <input
          type="search"
          autoComplete="off"
          maxLength={200}
          placeholder={props.example ?? say("operator.personSearchExample")}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </label>
      <button type="submit">{say("operator.personFind")}</button>
    </form>
  );
}
