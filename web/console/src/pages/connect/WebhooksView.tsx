import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago, plural } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import {
  chosenEvents,
  listDeliveries,
  listTypes,
  listWebhooks,
  makeWebhook,
  newSecret,
  removeWebhook,
  sendAgain,
  sendTest,
  setStatus,
  type Delivery,
  type Webhook,
} from "./webhooks";

type Doing = ReturnType<typeof useDoing>;

/** Addresses that are told what happens to what is one's own. */
export function WebhooksView() {
  const session = useSession();
  const { data, error } = useAsked({
    queryKey: ["webhooks"],
    queryFn: () => listWebhooks(session),
    refetchInterval: 5000, // whether an address is reached changes by itself
  });
  const doing = useDoing(["webhooks"]);
  const [secret, setSecret] = useState("");
  return (
    <>
      <p className="soft">
        A program of yours is told by a request when something happens here: a file is stored, an
        answer is finished, a form comes in. Requests are signed by Standard Webhooks.
      </p>
      <Problem error={doing.error || error} />
      {secret && (
        <div className="notice" role="status">
          <p className="with-copy">
            <span className="mono">{secret}</span>
            <CopyButton text={secret} label="Copy the secret" />
          </p>
          <p className="small">
            Your program checks signatures with this secret. It is shown this once. Copy it now.
          </p>
        </div>
      )}
      {data
        ? data.map((hook) => (
            <WebhookCard key={hook.id} hook={hook} doing={doing} onSecret={setSecret} />
          ))
        : !error && <Skeleton lines={4} label="Asking the server" />}
      {data?.length === 0 && <p className="card soft">Nothing is told of events yet.</p>}
      <AddForm doing={doing} onSecret={setSecret} />
    </>
  );
}

const states = { active: "Active", paused: "Paused", disabled: "Switched off" };

function WebhookCard(props: { hook: Webhook; doing: Doing; onSecret: (text: string) => void }) {
  const session = useSession();
  const { hook, doing } = props;
  const [asked, setAsked] = useState(false);
  const [open, setOpen] = useState(false);
  const name = hook.description || new URL(hook.url).host;
  return (
    <section className="card" aria-label={name}>
      <div className="program-head">
        <h2>{name}</h2>
        <span className={hook.status === "disabled" ? "badge low" : "badge"}>
          {states[hook.status]}
        </span>
      </div>
      <p className="soft small">
        <span className="mono">{hook.url}</span> · {hook.events.join(", ")}
      </p>
      {hook.reason && <p className="notice bad">{hook.reason}</p>}
      <p className="soft small">
        {hook.lastSuccess ? `Last reached ${ago(hook.lastSuccess)}.` : "Not reached yet."}
        {hook.failingSince && ` It has been failing since ${ago(hook.failingSince)}.`}
      </p>
      <div className="row">
        <button
          type="button"
          disabled={doing.isBusy || hook.status !== "active"}
          aria-label={`Send a test to ${name}`}
          onClick={() => {
            setOpen(true);
            doing.run(() => sendTest(session, hook.id));
          }}
        >
          Send a test
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={hook.status === "active" ? `Pause ${name}` : `Resume ${name}`}
          onClick={() =>
            doing.run(() =>
              setStatus(session, hook.id, hook.status === "active" ? "paused" : "active"),
            )
          }
        >
          {hook.status === "active" ? "Pause" : "Resume"}
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={`Make a new secret for ${name}`}
          onClick={() => doing.run(async () => props.onSecret(await newSecret(session, hook.id)))}
        >
          New secret
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={`Delete ${name}`}
          onClick={() => setAsked(true)}
        >
          Delete
        </button>
      </div>
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>What was sent</summary>
        {open && <Deliveries id={hook.id} />}
      </details>
      {asked && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          onConfirm={() => {
            setOpen(false); // what it was sent is not asked for any more
            doing.run(() => removeWebhook(session, hook.id));
          }}
          onClose={() => setAsked(false)}
        >
          It is told nothing any more, and what waits for it is dropped.
        </Confirm>
      )}
    </section>
  );
}

/** How a delivery went, in words. */
function outcome(d: Delivery): string {
  const tried = plural(d.attempts, "attempt");
  switch (d.state) {
    case "delivered":
      return `delivered after ${tried}`;
    case "held":
      return "held back";
    case "failed":
      return `failed after ${tried}: ${d.error ?? `status ${d.status}`}`;
    default:
      return d.attempts === 0
        ? "on its way"
        : `${tried}: ${d.error ?? `status ${d.status}`}; next ${d.next ? ago(d.next) : "soon"}`;
  }
}

function Deliveries({ id }: { id: string }) {
  const session = useSession();
  // Asked for again while it is looked at: a test arrives a moment after it was sent.
  const { data, error } = useAsked({
    queryKey: ["deliveries", id],
    queryFn: () => listDeliveries(session, id),
    refetchInterval: 2000,
  });
  const doing = useDoing(["deliveries", id]);
  return (
    <>
      <Problem error={doing.error || error} />
      {data?.length === 0 && <p className="soft">Nothing yet.</p>}
      <ul className="plain deliveries">
        {data?.map((d) => (
          <li key={d.event}>
            <span className="grow">
              <span className="mono">{d.type}</span>{" "}
              <span className="soft small">
                {ago(d.created)}, {outcome(d)}
              </span>
            </span>
            <button
              type="button"
              disabled={doing.isBusy}
              aria-label={`Send again: ${d.type}, ${ago(d.created)}`}
              onClick={() => doing.run(() => sendAgain(session, id, d.event))}
            >
              Send again
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function AddForm(props: { doing: Doing; onSecret: (text: string) => void }) {
  const session = useSession();
  const { data: types = [], error } = useAsked({
    queryKey: ["webhook types"],
    queryFn: () => listTypes(session),
    staleTime: Infinity,
  });
  const [url, setURL] = useState("");
  const [description, setDescription] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  function make(event: FormEvent) {
    event.preventDefault();
    props.doing.run(async () => {
      const events = chosenEvents(types, chosen);
      if (events.length === 0) throw new Error("Choose at least one event.");
      props.onSecret(
        await makeWebhook(session, { url, events, ...(description && { description }) }),
      );
      setURL("");
      setDescription("");
      setChosen(new Set());
    });
  }
  function choose(name: string, on: boolean) {
    const next = new Set(chosen);
    if (on) next.add(name);
    else next.delete(name);
    setChosen(next);
  }
  return (
    <section className="card" aria-label="Add a webhook">
      <h2>Add a webhook</h2>
      <Problem error={error} />
      <form className="stack" onSubmit={make}>
        <label>
          Address
          <input
            value={url}
            type="url"
            required
            placeholder="https://example.org/hooks/castalia"
            onChange={(event) => setURL(event.target.value)}
          />
        </label>
        <label>
          What it is for
          <input
            value={description}
            maxLength={200}
            onChange={(event) => setDescription(event.target.value)}
          />
        </label>
        <fieldset>
          <legend>Events</legend>
          <button
            type="button"
            className="quiet"
            onClick={() =>
              setChosen(new Set(chosen.size === types.length ? [] : types.map(({ name }) => name)))
            }
          >
            {chosen.size === types.length ? "Choose none" : "Choose all"}
          </button>
          {types.map(({ name, doc }) => (
            <label key={name} className="choice">
              <input
                type="checkbox"
                checked={chosen.has(name)}
                onChange={(event) => choose(name, event.target.checked)}
              />
              <span>
                <span className="mono">{name}</span> <span className="soft small">{doc}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <div>
          <button type="submit" className="primary" disabled={props.doing.isBusy}>
            Add
          </button>
        </div>
      </form>
    </section>
  );
}
