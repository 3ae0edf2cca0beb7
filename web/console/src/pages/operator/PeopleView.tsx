import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago, messageOf, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { ask, useLook } from "./api";
import { FindPeopleCard } from "./FindPeopleCard";
import { InvitationsCard } from "./InvitationsCard";
import {
  doorOf,
  membersAfter,
  membersPath,
  operatorsPath,
  usageOf,
  type Access,
  type Member,
  type Members,
  type Operator,
  type Role,
  type Usage,
} from "./people";
import { RolesCard } from "./RolesCard";

/** Who may come in, by which invitation, who runs the deployment, and what each asked for. */
export function PeopleView() {
  const me = useLook<{ name: string; role: Role }>("/operator/me", 60_000);
  const door = useLook<Access>("/operator/access", 15_000);
  const operators = useLook<{ operators: Operator[] }>(operatorsPath, 60_000);
  const error = me.error || door.error || operators.error;
  if (!me.data || !door.data || !operators.data) {
    return (
      <div className="stack" aria-busy={!error}>
        {error ? <Problem error={error} /> : <Skeleton lines={6} label="Asking who is here" />}
      </div>
    );
  }
  const known = operators.data.operators;
  return (
    <div className="stack">
      <Problem error={error} />
      <p>
        {doorOf(door.data)} <code>ACCESS</code> in the server&apos;s settings changes this.
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
  const list = useInfiniteQuery({
    queryKey: [membersPath],
    queryFn: ({ pageParam }) => ask<Members>(session, membersAfter(pageParam)),
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
    <section {...kept} className="card stack" aria-label="Members" aria-busy={!members && !error}>
      <h2>
        Members <span className="soft small">{door.members.toLocaleString("en")}</span>
      </h2>
      <Problem error={doing.error || error} />
      {mayChange && <AddMember />}
      {!members && !error && <Skeleton lines={4} label="Reading the members" />}
      {members?.length === 0 && (
        <p className="soft">Nobody was made a member yet, by an invitation or here.</p>
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
      {list.hasNextPage && (
        <p>
          <button
            type="button"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Show more
          </button>
        </p>
      )}
      {leaving && (
        <Confirm
          title={`Remove ${leaving.note || short(leaving.did, 16, 6)}?`}
          action="Remove"
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          {door.access === "open"
            ? "Everybody may come in here, so they still can: block them to keep them out. "
            : "Within a second every node refuses them and what they delegated. "}
          What they stored stays, and they can be added again.
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
          Their DID
          <input
            data-entry
            required
            autoComplete="off"
            placeholder="did:key:…"
            value={did}
            onChange={(event) => setDid(event.target.value)}
          />
        </label>
        <label>
          Who that is
          <input
            maxLength={200}
            autoComplete="off"
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <button type="submit" disabled={isBusy || did.trim() === ""}>
          Add a member
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
  const name = note ? `${note}, ${key}` : key;
  const came = [
    added ? `came ${ago(added)}` : "",
    invitation ? "by an invitation" : "added by an operator",
  ];
  return (
    <li>
      <div className="row spread">
        <span className="grow">
          <strong>{note || key}</strong>{" "}
          {props.role && <span className="badge good">{props.role}</span>}
          <span className="soft small with-copy">
            <span className="mono">{key}</span>
            <CopyButton text={did} label={`Copy the DID of ${name}`} />
          </span>
          <span className="soft small block">{came.filter(Boolean).join(", ")}</span>
        </span>
        <span className="row">
          <button
            type="button"
            className="quiet"
            aria-expanded={isOpen}
            aria-label={`Usage of ${name}`}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="clock" /> Usage
          </button>
          {props.onRemove && (
            <button
              type="button"
              className="danger"
              disabled={props.isBusy}
              aria-label={`Remove ${name}`}
              onClick={props.onRemove}
            >
              Remove
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
      {!data && !error && <p className="soft small">Counting…</p>}
    </div>
  );
}
