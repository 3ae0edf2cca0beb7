import { useEffect, useState } from "react";
import { ago, messageOf, moment } from "../shell/format";
import { Icon } from "../shell/icons";
import { say } from "../words";
import { fetchKeyRequests, foreign, refuseKey, unlinkTelephone, type KeyRequest } from "./newKeys";
import { useSession } from "./session";
import "./keyNotice.css";

/** How often an open page asks, and how long it waits at least when somebody comes back to it. */
const often = 5 * 60_000;
const atLeast = 60_000;

/** Requests that this tab was told to leave alone. */
const kept = "castalia-key-requests-known";

/**
 * Tells whoever still has a key that somebody asks for a new one in its place: with the old key it
 * is refused, whoever has the telephone. What cannot be asked is asked again later, in silence.
 */
export default function KeyNotice() {
  const session = useSession();
  const [waiting, setWaiting] = useState<KeyRequest[]>([]);
  const [known, setKnown] = useState(() => (sessionStorage.getItem(kept) ?? "").split(" "));
  useEffect(() => {
    let isGone = false;
    let last = 0;
    const look = () => {
      if (document.visibilityState !== "visible" || Date.now() - last < atLeast) return;
      last = Date.now();
      fetchKeyRequests(session).then(
        (found) => isGone || setWaiting(foreign(found, session.key.did)),
        () => undefined,
      );
    };
    look();
    const timer = setInterval(look, often);
    document.addEventListener("visibilitychange", look);
    return () => {
      isGone = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [session]);
  const leave = (id: string) => {
    const next = [...known, id];
    sessionStorage.setItem(kept, next.join(" "));
    setKnown(next);
  };
  const shown = waiting.filter(({ id }) => !known.includes(id));
  if (shown.length === 0) return null;
  return (
    <div className="stack key-notices">
      {shown.map((request) => (
        <Asked key={request.id} request={request} onLeave={() => leave(request.id)} />
      ))}
    </div>
  );
}

function Asked({ request, onLeave }: { request: KeyRequest; onLeave: () => void }) {
  const session = useSession();
  const [step, setStep] = useState<"asked" | "refused" | "unlinked">("asked");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const { id, account, askedAt, readyAt } = request;
  const run = (work: () => Promise<unknown>, next: typeof step) => {
    setBusy(true);
    setError("");
    work()
      .then(
        () => setStep(next),
        (cause: unknown) => setError(messageOf(cause)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <section className="card key-notice" aria-label={say("keys.noticeTitle")}>
      <p role="alert">
        <Icon name="lock" />{" "}
        {step === "asked"
          ? say("keys.notice", { when: ago(askedAt), account, ready: moment(readyAt) })
          : say(step === "refused" ? "keys.noticeRefused" : "keys.noticeUnlinked", { account })}
      </p>
      {error && (
        <p role="alert" className="bad small">
          {error}
        </p>
      )}
      <div className="row">
        {step === "asked" && (
          <button
            type="button"
            className="danger"
            disabled={isBusy}
            onClick={() => run(() => refuseKey(session, id), "refused")}
          >
            {say("keys.noticeRefuse")}
          </button>
        )}
        {step === "refused" && (
          <button
            type="button"
            className="danger"
            disabled={isBusy}
            onClick={() => run(() => unlinkTelephone(session, account), "unlinked")}
          >
            {say("keys.noticeUnlink")}
          </button>
        )}
        <button type="button" onClick={onLeave}>
          {say(step === "asked" ? "keys.noticeMine" : "keys.noticeClose")}
        </button>
      </div>
    </section>
  );
}
