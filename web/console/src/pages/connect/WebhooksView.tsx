import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { labelsNow, say } from "../../words";
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

const exampleAddress = "https://example.org/hooks/castalia";

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
      <p className="soft">{say("connect.webhooksWhat")}</p>
      <Problem error={doing.error || error} />
      {secret && (
        <div className="notice" role="status">
          <p className="with-copy">
            <span className="mono" dir="auto">
              {secret}
            </span>
            <CopyButton text={secret} label={say("connect.copySecret")} />
          </p>
          <p className="small">{say("connect.secretOnce")}</p>
        </div>
      )}
      {data
        ? data.map((hook) => (
            <WebhookCard key={hook.id} hook={hook} doing={doing} onSecret={setSecret} />
          ))
        : !error && <Skeleton lines={4} label={say("connect.askingServer")} />}
      {data?.length === 0 && <p className="card soft">{say("connect.noWebhooks")}</p>}
      <AddForm doing={doing} onSecret={setSecret} />
    </>
  );
}

const states = {
  active: "connect.active",
  paused: "connect.paused",
  disabled: "connect.disabled",
} as const;

function WebhookCard(props: { hook: Webhook; doing: Doing; onSecret: (text: string) => void }) {
  const session = useSession();
  const { hook, doing } = props;
  const [asked, setAsked] = useState(false);
  const [open, setOpen] = useState(false);
  const name = hook.description || new URL(hook.url).host;
  return (
    <section className="card" aria-label={name}>
      <div className="program-head">
        <h2 dir="auto">{name}</h2>
        <span className={hook.status === "disabled" ? "badge low" : "badge"}>
          {say(states[hook.status])}
        </span>
      </div>
      <p className="soft small">
        <span className="mono" dir="auto">
          {hook.url}
        </span>{" "}
        · <span dir="auto">{hook.events.join(", ")}</span>
      </p>
      {hook.reason && (
        <p className="notice bad" dir="auto">
          {hook.reason}
        </p>
      )}
      <p className="soft small">
        {hook.lastSuccess
          ? say("connect.lastReached", { when: ago(hook.lastSuccess) })
          : say("connect.notReached")}
        {hook.failingSince && ` ${say("connect.failingSince", { when: ago(hook.failingSince) })}`}
      </p>
      <div className="row">
        <button
          type="button"
          disabled={doing.isBusy || hook.status !== "active"}
          aria-label={say("connect.sendTestTo", { name })}
          onClick={() => {
            setOpen(true);
            doing.run(() => sendTest(session, hook.id));
          }}
        >
          {say("connect.sendTest")}
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={
            hook.status === "active"
              ? say("connect.pauseOne", { name })
              : say("connect.resumeOne", { name })
          }
          onClick={() =>
            doing.run(() =>
              setStatus(session, hook.id, hook.status === "active" ? "paused" : "active"),
            )
          }
        >
          {hook.status === "active" ? say("connect.pause") : say("connect.resume")}
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={say("connect.newSecretFor", { name })}
          onClick={() => doing.run(async () => props.onSecret(await newSecret(session, hook.id)))}
        >
          {say("connect.newSecret")}
        </button>
        <button
          type="button"
          disabled={doing.isBusy}
          aria-label={labelsNow().removeOne(name)}
          onClick={() => setAsked(true)}
        >
          {labelsNow().remove}
        </button>
      </div>
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{say("connect.whatWasSent")}</summary>
        {open && <Deliveries id={hook.id} />}
      </details>
      {asked && (
        <Confirm
          title={say("connect.deleteAsk", { name })}
          action={labelsNow().remove}
          onConfirm={() => {
            setOpen(false); // what it was sent is not asked for any more
            doing.run(() => removeWebhook(session, hook.id));
          }}
          onClose={() => setAsked(false)}
        >
          {say("connect.deleteHint")}
        </Confirm>
      )}
    </section>
  );
}

/** How a delivery went, in words. */
function outcome(d: Delivery): string {
  const n = d.attempts;
  const why = d.error ?? say("connect.statusWas", { status: String(d.status) });
  switch (d.state) {
    case "delivered":
      return say("connect.delivered", { n });
    case "held":
      return say("connect.held");
    case "failed":
      return say("connect.failed", { n, why });
    default:
      if (n === 0) return say("connect.onItsWay");
      return d.next
        ? say("connect.retryingAt", { n, why, when: ago(d.next) })
        : say("connect.retryingSoon", { n, why });
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
      {data?.length === 0 && <p className="soft">{say("connect.nothingYet")}</p>}
      <ul className="plain deliveries">
        {data?.map((d) => (
          <li key={d.event}>
            <span className="grow">
              <span className="mono" dir="auto">
                {d.type}
              </span>{" "}
              <span className="soft small">
                {say("connect.deliveryAt", { when: ago(d.created), outcome: outcome(d) })}
              </span>
            </span>
            <button
              type="button"
              disabled={doing.isBusy}
              aria-label={say("connect.sendAgainOne", { type: d.type, when: ago(d.created) })}
              onClick={() => doing.run(() => sendAgain(session, id, d.event))}
            >
              {say("connect.sendAgain")}
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
      if (events.length === 0) throw new Error(say("connect.chooseEvent"));
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
    <section className="card" aria-label={say("connect.addWebhook")}>
      <h2>{say("connect.addWebhook")}</h2>
      <Problem error={error} />
      <form className="stack" onSubmit={make}>
        <label>
          {say("connect.address")}
          <input
            value={url}
            type="url"
            required
            placeholder={exampleAddress}
            onChange={(event) => setURL(event.target.value)}
          />
        </label>
        <label>
          {say("connect.purpose")}
          <input
            value={description}
            maxLength={200}
            onChange={(event) => setDescription(event.target.value)}
          />
        </label>
        <fieldset>
          <legend>{say("connect.events")}</legend>
          <button
            type="button"
            className="quiet"
            onClick={() =>
              setChosen(new Set(chosen.size === types.length ? [] : types.map(({ name }) => name)))
            }
          >
            {chosen.size === types.length ? say("connect.chooseNone") : say("connect.chooseAll")}
          </button>
          {types.map(({ name, doc }) => (
            <label key={name} className="choice">
              <input
                type="checkbox"
                checked={chosen.has(name)}
                onChange={(event) => choose(name, event.target.checked)}
              />
              <span>
                <span className="mono" dir="auto">
                  {name}
                </span>{" "}
                <span className="soft small" dir="auto">
                  {doc}
                </span>
              </span>
            </label>
          ))}
        </fieldset>
        <div>
          <button type="submit" className="primary" disabled={props.doing.isBusy}>
            {say("connect.add")}
          </button>
        </div>
      </form>
    </section>
  );
}
