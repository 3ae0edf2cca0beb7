import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { messageOf } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { ask } from "./api";
import { nameOf, peopleAfter, peoplePath, personPath, type People, type Person } from "./people";
import { PersonRow } from "./PersonRow";
import { SearchForm } from "./SearchForm";
import { ShowMore } from "./parts";

/** Everybody who has something here, to find one of them and to keep somebody out. */
export function FindPeopleCard({ mayChange }: { mayChange: boolean }) {
  const session = useSession();
  const [search, setSearch] = useState("");
  const list = useInfiniteQuery({
    queryKey: [peoplePath, search],
    queryFn: ({ pageParam }) => ask<People>(session, peopleAfter(search, pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    refetchOnWindowFocus: false,
  });
  const doing = useDoing([peoplePath]);
  const [blocking, setBlocking] = useState<Person>();
  const [why, setWhy] = useState("");
  const kept = useKeptFocus<HTMLElement>();
  const pages = list.data?.pages;
  const people = pages?.flatMap((page) => page.people);
  const error = list.error ? messageOf(list.error) : "";
  const blockPath = (person: Person) => `${personPath(person)}/block`;
  function change(person: Person) {
    if (person.blocked) doing.run(() => ask(session, blockPath(person), "DELETE"));
    else setBlocking(person);
  }
  return (
    <section
      {...kept}
      className="card stack"
      aria-label={say("operator.people")}
      aria-busy={!people && !error}
    >
      <h2>{say("operator.people")}</h2>
      <SearchForm label={say("operator.personSearch")} onSearch={setSearch} />
      <Problem error={doing.error || error} />
      {!people && !error && <Skeleton lines={4} label={say("operator.personLooking")} />}
      {people?.length === 0 && (
        <p className="soft">{say(search ? "operator.personNoneFound" : "operator.personNone")}</p>
      )}
      {people && people.length > 0 && (
        <ul className="plain locks people">
          {people.map((person) => (
            <PersonRow
              key={person.did}
              person={person}
              mayChange={mayChange}
              isBusy={doing.isBusy}
              onBlock={() => change(person)}
            />
          ))}
        </ul>
      )}
      {pages?.at(-1)?.more && <p className="soft small">{say("operator.personMore")}</p>}
      <ShowMore list={list} label={say("operator.personShowMore")} />
      {blocking && (
        <Confirm
          title={say("operator.personBlockAsk", { name: nameOf(blocking) })}
          action={say("operator.personBlock")}
          onConfirm={() =>
            doing.run(async () => {
              await ask(session, blockPath(blocking), "PUT", { note: why.trim() });
              setWhy("");
            })
          }
          onClose={() => setBlocking(undefined)}
        >
          {say("operator.personBlockHint")}
          <label className="block">
            {say("operator.personBlockWhy")}
            <input
              maxLength={200}
              autoComplete="off"
              value={why}
              onChange={(event) => setWhy(event.target.value)}
            />
          </label>
        </Confirm>
      )}
    </section>
  );
}
