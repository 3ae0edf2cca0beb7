import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago, list as listed, messageOf, number, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { ask, useLook, useMe } from "./api";
import { FindPeopleCard } from "./FindPeopleCard";
import { InvitationsCard } from "./InvitationsCard";
import {
  didExample,
  doorOf,
  membersAfter,
  membersPath,
  operatorsPath,
  roleName,
  usageOf,
  type Access,
  type Member,
  type Members,
  type Operator,
  type Role,
  type Usage,
} from "./people";
import { RolesCard } from "./RolesCard";
import { SearchForm } from "./SearchForm";
import { ShowMore } from "./parts";

/** Who may come in, by which invitation, who runs the deployment, and what each asked for. */
export function PeopleView() {
  const me = useMe();
  const door = useLook<Access>("/operator/access", 15_000);
  const operators = useLook<{ operators: Operator[] }>(operatorsPath, 60_000);
  const error = me.error || door.error || operators.error;
  if (!me.data || !door.data || !operators.data) {
    return (
      <div className="stack" aria-busy={!error}>
        {error ? (
          <Problem error={error} />
        ) : (
          <Skeleton lines={6} label={say("operator.personAsking")} />
        )}
      </div>
    );
  }
  const known = operators.data.operators;
  return (
    <div className="stack">
      <Problem error={error} />
      <p>
        {doorOf(door.data)} <Link to="operator/oracle">{say("operator.personDoorChoose")}</Link>
      </p>
      <div className="grid">
        <InvitationsCard mayChange={me.data.role !== "viewer"} />
        <RolesCard operators={known} me={me.data} />
      </div>
      <FindPeopleCard mayChange={me.data.role !== "viewer"} />
      <MembersCard door={door.data} operators={known} mayChange={me.data.role !== "viewer"} />
    </div>
  );
}

function MembersCard(props: { door: Access; operators: Operator[]; mayChange: boolean }) {
  const { door, mayChange } = props;
  const session = useSession();
  const [search, setSearch] = useState("");
  const list = useInfiniteQuery({
    queryKey: [membersPath, search],
    queryFn: ({ pageParam }) => ask<Members>(session, membersAfter(search, pageParam)),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    refetchOnWindowFocus: false,
  });
  const doing = useDoing([]);
  const [leaving, setLeaving] = useState<Member>();
  const kept = useKeptFocus<HTMLElement>();
  const members = list.data?.pages.flatMap((page) => page.members);
  const error = list.error ? messageOf(list.error) : "";
  const roleOf = new Map(props.operators.map(({ did, role }) => [did, role]));
  const remove = ({ did }: Member) =>
    doing.run(() => ask(session, `${membersPath}/${encodeURIComponent(did)}`, "DELETE"));
  return (
    <section
      {...kept}
      className="card stack"
      aria-label={say("operator.personMembers")}
      aria-busy={!members && !error}
    >
      <h2>
        {say("operator.personMembers")} <span className="soft small">{number(door.members)}</span>
      </h2>
      <Problem error={doing.error || error} />
      {mayChange && <AddMember />}
      <SearchForm label={say("operator.memberSearch")} onSearch={setSearch} />
      {!members && !error && <Skeleton lines={4} label={say("operator.personReadingMembers")} />}
      {members?.length === 0 && (
        <p className="soft">
          {say(search ? "operator.personNoneFound" : "operator.personNoMembers")}
        </p>
      )}
      {members && members.length > 0 && (
        <ul className="plain locks people">
          {members.map((member) => (
            <MemberRow
              key={member.did}
              member={member}
              role={roleOf.get(member.did)}
              isBusy={doing.isBusy}
              {...(mayChange ? { onRemove: () => setLeaving(member) } : {})}
            />
          ))}
        </ul>
      )}
      {list.data?.pages.at(-1)?.more && <p className="soft small">{say("operator.personMore")}</p>}
      <ShowMore list={list} label={say("operator.personMoreMembers")} />
      {leaving && (
        <Confirm
          title={say("operator.personRemoveAsk", {
            name: leaving.note || short(leaving.did, 16, 6),
          })}
          action={say("operator.personRemove")}
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          {say(
            door.access === "open" ? "operator.personRemoveOpenHint" : "operator.personRemoveHint",
          )}
        </Confirm>
      )}
    </section>
  );
}

function AddMember() {
  const session = useSession();
  const { run, isBusy, error } = useDoing([]);
  const [did, setDid] = useState("");
  const [note, setNote] = useState("");
  function add(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const path = `${membersPath}/${encodeURIComponent(did.trim())}`;
      await ask(session, path, "PUT", { note: note.trim() });
      setDid("");
      setNote("");
    });
  }
  return (
    <form className="stack" onSubmit={add}>
      <Problem error={error} />
      <div className="row settings-search">
        <label className="grow">
          {say("operator.personDid")}
          <input
            data-entry
            required
            autoComplete="off"
            dir="auto"
            placeholder={didExample}
            value={did}
            onChange={(event) => setDid(event.target.value)}
          />
        </label>
        <label>
          {say("operator.personWho")}
          <input
            maxLength={200}
            autoComplete="off"
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <button type="submit" disabled={isBusy || did.trim() === ""}>
          {say("operator.personAdd")}
        </button>
      </div>
    </form>
  );
}

function MemberRow(props: {
  member: Member;
  role: Role | undefined;
  isBusy: boolean;
  onRemove?: () => void;
}) {
  const { did, note, invitation, added } = props.member;
  const [isOpen, setOpen] = useState(false);
  const key = short(did, 16, 6);
  // Whoever came by one invitation has its note.
  const name = note ? say("operator.personNamed", { note, key }) : key;
  const came = [
    ...(added ? [say("operator.personCame", { when: ago(added) })] : []),
    say(invitation ? "operator.personByInvitation" : "operator.personByOperator"),
  ];
  return (
    <li>
      <div className="row spread">
        <span className="grow">
          <strong dir="auto">{note || key}</strong>{" "}
          {props.role && <span className="badge good">{roleName(props.role)}</span>}
          <span className="soft small with-copy">
            <span className="mono">{key}</span>
            <CopyButton text={did} label={say("operator.personCopyDid", { name })} />
          </span>
          <span className="soft small block">{listed(came)}</span>
        </span>
        <span className="row">
          <button
            type="button"
            className="quiet"
            aria-expanded={isOpen}
            aria-label={say("operator.personUsageOf", { name })}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="clock" /> {say("operator.personUsage")}
          </button>
          {props.onRemove && (
            <button
              type="button"
              className="danger"
              disabled={props.isBusy}
              aria-label={say("operator.personRemoveOne", { name })}
              onClick={props.onRemove}
            >
              {say("operator.personRemove")}
            </button>
          )}
        </span>
      </div>
      {isOpen && <UsageLine did={did} />}
    </li>
  );
}

/** Asked for when somebody wants to know, of one person alone. */
function UsageLine({ did }: { did: string }) {
  const session = useSession();
  const path = `/operator/usage?${new URLSearchParams({ by: "", user: did })}`;
  const { data, error } = useAsked({
    queryKey: [path],
    queryFn: () => ask<Usage>(session, path),
  });
  return (
    <div role="status">
      <Problem error={error} />
      {data && <p className="soft small">{usageOf(data)}</p>}
      {!data && !error && <p className="soft small">{say("operator.personCounting")}</p>}
    </div>
  );
}
