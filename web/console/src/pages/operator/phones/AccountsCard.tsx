import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../../identity/session";
import { messageOf } from "../../../shell/format";
import { useKeptFocus } from "../../../shell/keptFocus";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { ask, useMe } from "../api";
import { SearchForm } from "../SearchForm";
import { AccountRow } from "./AccountRow";
import { accountsAfter, accountsPath, nextOf, searchOf, type Accounts } from "./phones";
import { ShowMore } from "../parts";

/** Accounts of telephones, to find one of them and to do what its caller asks for. */
export default function AccountsCard() {
  const session = useSession();
  const me = useMe();
  const [search, setSearch] = useState("");
  const list = useInfiniteQuery({
    queryKey: [accountsPath, search],
    queryFn: ({ pageParam }) =>
      search
        ? ask<Accounts>(session, `${accountsPath}/search`, "POST", searchOf(search, pageParam))
        : ask<Accounts>(session, accountsAfter(pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ accounts }) => nextOf(accounts.map(({ account }) => account)),
    refetchOnWindowFocus: false,
  });
  const kept = useKeptFocus<HTMLElement>();
  const accounts = list.data?.pages.flatMap((page) => page.accounts);
  const error = list.error ? messageOf(list.error) : "";
  // What is looked for is a number often: it is sent, and so it takes a role that may send.
  const mayChange = !!me.data && me.data.role !== "viewer";
  return (
    <section
      {...kept}
      className="card stack"
      aria-label={say("phones.accounts")}
      aria-busy={!accounts && !error}
    >
      <h2>{say("phones.accounts")}</h2>
      {mayChange && (
        <SearchForm
          label={say("phones.search")}
          example={say("phones.searchExample")}
          onSearch={setSearch}
        />
      )}
      <Problem error={error} />
      {!accounts && !error && <Skeleton lines={4} label={say("phones.reading")} />}
      {accounts?.length === 0 && (
        <p className="soft">{say(search ? "phones.noneFound" : "phones.none")}</p>
      )}
      {accounts && accounts.length > 0 && (
        <ul className="plain locks">
          {accounts.map((account) => (
            <AccountRow key={account.account} account={account} mayChange={mayChange} />
          ))}
        </ul>
      )}
      <ShowMore list={list} label={say("phones.showMore")} />
    </section>
  );
}
