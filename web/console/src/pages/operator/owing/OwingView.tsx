import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { CopyButton } from "../../../shell/CopyButton";
import { messageOf, short } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { useKeptFocus } from "../../../shell/keptFocus";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say } from "../../../words";
import { ask, useMe } from "../api";
import { SearchForm } from "../SearchForm";
import {
  amountOf,
  balancesAfter,
  claimsAfter,
  claimsPath,
  columns,
  credits,
  creditsPath,
  failureOf,
  retryPath,
  standingOf,
  type Balances,
  type Claim,
  type Claims,
} from "./owing";
import { ShowMore } from "../parts";

/** What people owe, what could not be claimed and why, and what each has left. */
export default function OwingView() {
  const me = useMe();
  return (
    <div className="stack">
      <p className="soft">{say("owing.what")}</p>
      <ClaimsCard state="failed" mayChange={!!me.data && me.data.role !== "viewer"} />
      <ClaimsCard state="owed" mayChange={false} />
      <BalancesCard />
    </div>
  );
}

/** The pages of a list that is read as far as somebody wants it. */
function usePages<T extends { next?: string }>(key: string[], path: (after: string) => string) {
  const session = useSession();
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => ask<T>(session, path(pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    refetchOnWindowFocus: false,
  });
  return { list, pages: list.data?.pages, error: list.error ? messageOf(list.error) : "" };
}

function Whose({ did, note = "" }: { did: string; note?: string }) {
  const key = short(did, 14, 6);
  return (
    <>
      {note && <strong dir="auto">{note}</strong>}{" "}
      <span className="with-copy">
        <span className="mono">{key}</span>
        <CopyButton text={did} label={say("owing.copyDid", { name: note || key })} />
      </span>
    </>
  );
}

function ClaimsCard({ state, mayChange }: { state: "owed" | "failed"; mayChange: boolean }) {
  const session = useSession();
  const { list, pages, error } = usePages<Claims>([claimsPath, state], (after) =>
    claimsAfter(state, after),
  );
  const doing = useDoing([claimsPath]);
  const kept = useKeptFocus<HTMLElement>();
  const claims = pages?.flatMap((page) => page.claims);
  const title = say(state === "failed" ? "owing.failedClaims" : "owing.openClaims");
  const retry = (claim: Claim) => doing.run(() => ask(session, retryPath(claim), "POST"));
  return (
    <section {...kept} className="card stack" aria-label={title} aria-busy={!claims && !error}>
      <h2>{title}</h2>
      <Problem error={doing.error || error} />
      {!claims && !error && <Skeleton lines={3} label={say("owing.reading")} />}
      {claims?.length === 0 && (
        <p className="soft">{say(state === "failed" ? "owing.noneFailed" : "owing.noneOpen")}</p>
      )}
      {claims && claims.length > 0 && (
        <ul className="plain locks people">
          {claims.map((claim) => (
            <li key={claim.id} className="row spread">
              <span className="grow">
                <strong>{credits(claim.amount)}</strong> <Whose did={claim.did} />
                <span className="soft small block">{standingOf(claim)}</span>
                {claim.reason && (
                  <span className="small block">
                    {failureOf(claim)}{" "}
                    <span className="bad" dir="auto">
                      {claim.reason}
                    </span>
                  </span>
                )}
              </span>
              {mayChange && (
                <button
                  type="button"
                  disabled={doing.isBusy}
                  aria-label={say("owing.retryOne", {
                    credits: credits(claim.amount),
                    name: short(claim.did, 14, 6),
                  })}
                  onClick={() => retry(claim)}
                >
                  <Icon name="restore" /> {say("owing.retry")}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <ShowMore list={list} label={say("owing.more")} />
    </section>
  );
}

function BalancesCard() {
  const [search, setSearch] = useState("");
  const { list, pages, error } = usePages<Balances>([creditsPath, search], (after) =>
    balancesAfter(search, after),
  );
  const balances = pages?.flatMap((page) => page.balances);
  return (
    <section
      className="card stack"
      aria-label={say("owing.balances")}
      aria-busy={!balances && !error}
    >
      <h2>{say("owing.balances")}</h2>
      <SearchForm label={say("operator.personSearch")} onSearch={setSearch} />
      <Problem error={error} />
      {!balances && !error && <Skeleton lines={4} label={say("owing.reading")} />}
      {balances?.length === 0 && (
        <p className="soft">{say(search ? "operator.personNoneFound" : "operator.personNone")}</p>
      )}
      {balances && balances.length > 0 && (
        <div className="tables-held">
          <table>
            <thead>
              <tr>
                <th scope="col">{say("owing.person")}</th>
                {columns.map(({ name, title, isMinor }) => (
                  <th key={name} scope="col" className={isMinor ? "number wide-only" : "number"}>
                    {say(title)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {balances.map((one) => (
                <tr key={one.did}>
                  <td>
                    <Whose did={one.did} {...(one.note ? { note: one.note } : {})} />
                  </td>
                  {columns.map(({ name, isMinor }) => (
                    <td key={name} className={isMinor ? "number wide-only" : "number"}>
                      {amountOf(one, name)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages?.at(-1)?.more && <p className="soft small">{say("operator.personMore")}</p>}
      <ShowMore list={list} label={say("owing.more")} />
    </section>
  );
}
