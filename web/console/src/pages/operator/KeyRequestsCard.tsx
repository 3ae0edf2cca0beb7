import { useState } from "react";
import type { KeyRequest, KeyRequests } from "../../identity/newKeys";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago, date, moment, short } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say, type Key } from "../../words";
import { ask, useLook, useMe } from "./api";

const path = "/operator/ussd/key-requests";

type Step = "approve" | "refuse" | "undo";

/** What each step is called, what is asked before it, and what it means. */
const steps: Record<Step, { name: Key; one: Key; title: Key; hint: Key }> = {
  approve: {
    name: "keys.approve",
    one: "keys.approveOne",
    title: "keys.approveAsk",
    hint: "keys.approveHint",
  },
  refuse: {
    name: "keys.refuse",
    one: "keys.refuseOne",
    title: "keys.refuseAsk",
    hint: "keys.refuseHint",
  },
  undo: { name: "keys.undo", one: "keys.undoOne", title: "keys.undoAsk", hint: "keys.undoHint" },
};

/** Who asks for a new key in the place of a lost one, and what an operator decides. */
export function KeyRequestsCard() {
  const session = useSession();
  const [isAll, setAll] = useState(false);
  const { data, error } = useLook<KeyRequests>(isAll ? `${path}?all=true` : path, 15_000);
  const me = useMe();
  const doing = useDoing([]);
  const [asked, setAsked] = useState<{ step: Step; request: KeyRequest }>();
  const kept = useKeptFocus<HTMLElement>();
  const decide = (step: Step, { id }: KeyRequest) =>
    doing.run(() => ask(session, `${path}/${encodeURIComponent(id)}/${step}`, "POST"));
  const mayChange = !!me.data && me.data.role !== "viewer";
  return (
    <section
      {...kept}
      className="card stack"
      aria-label={say("keys.requests")}
      aria-busy={!data && !error}
    >
      <h2>{say("keys.requests")}</h2>
      <p className="soft small">{say("keys.requestsWhat")}</p>
      <label className="choice">
        <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} />
        {say("keys.showAll")}
      </label>
      <Problem error={doing.error || error} />
      {!data && !error && <Skeleton lines={3} label={say("keys.reading")} />}
      {data?.requests.length === 0 && <p className="soft">{say("keys.none")}</p>}
      {data && data.requests.length > 0 && (
        <ul className="plain locks">
          {data.requests.map((request) => (
            <Row
              key={request.id}
              request={request}
              isBusy={doing.isBusy}
              {...(mayChange ? { onAsk: (step: Step) => setAsked({ step, request }) } : {})}
            />
          ))}
        </ul>
      )}
      {asked && (
        <Confirm
          title={say(steps[asked.step].title, { account: asked.request.account })}
          action={say(steps[asked.step].name)}
          onConfirm={() => decide(asked.step, asked.request)}
          onClose={() => setAsked(undefined)}
        >
          {say(steps[asked.step].hint)}
        </Confirm>
      )}
    </section>
  );
}

function Row(props: { request: KeyRequest; isBusy: boolean; onAsk?: (step: Step) => void }) {
  const { request, onAsk } = props;
  const { account, phoneNumber, person, key, linkedAt, askedAt } = request;
  const button = (step: Step, isEarly = false) => (
    <button
      key={step}
      type="button"
      className={step === "approve" ? "" : "danger"}
      disabled={props.isBusy || isEarly}
      aria-label={say(steps[step].one, { account })}
      onClick={() => onAsk?.(step)}
    >
      {say(steps[step].name)}
    </button>
  );
  return (
    <li>
      <div className="row spread">
        <span className="grow">
          <strong dir="auto">{account}</strong>{" "}
          <span className="soft small" dir="ltr">
            {phoneNumber}
          </span>{" "}
          <span className="badge">{say("keys.state", { state: request.state })}</span>
          <Did label={say("keys.person")} copy={say("keys.copyPerson", { account })} did={person} />
          <Did label={say("keys.newKey")} copy={say("keys.copyKey", { account })} did={key} />
          <span className="soft small block">
            {say("keys.since", { asked: ago(askedAt), linked: date(linkedAt) })}
          </span>
          <span className="soft small block">{standing(request)}</span>
        </span>
        {onAsk && (
          <span className="row">
            {request.state === "waiting" && [button("approve", isEarly(request)), button("refuse")]}
            {request.mayUndo && button("undo")}
          </span>
        )}
      </div>
    </li>
  );
}

function Did({ label, copy, did }: { label: string; copy: string; did: string }) {
  return (
    <span className="soft small block">
      {label}{" "}
      <span className="with-copy">
        <span className="mono">{short(did, 16, 6)}</span>
        <CopyButton text={did} label={copy} />
      </span>
    </span>
  );
}

function isEarly({ readyAt }: KeyRequest): boolean {
  return new Date(readyAt).getTime() > Date.now();
}

/** From when on it can be approved, or who decided. */
function standing(request: KeyRequest): string {
  const { state, readyAt, expiresAt, decidedAt, decidedBy } = request;
  if (state === "waiting") {
    return isEarly(request)
      ? say("keys.readyLater", { when: moment(readyAt) })
      : say("keys.readyNow", { end: moment(expiresAt) });
  }
  return decidedAt
    ? say("keys.decided", { when: moment(decidedAt), by: short(decidedBy ?? "", 16, 6) })
    : say("keys.ended", { when: moment(expiresAt) });
}
