import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { fetchScreen, useFeatures } from "../../shell/features";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
import { airTime } from "./septets";
import "./telephone.css";

interface Call {
  id: string;
  text: string;
  screen: string;
  open: boolean;
  path: { input: string; screen: string }[];
}

const keys: [string, string][] = [
  ["1", ""],
  ["2", "abc"],
  ["3", "def"],
  ["4", "ghi"],
  ["5", "jkl"],
  ["6", "mno"],
  ["7", "pqrs"],
  ["8", "tuv"],
  ["9", "wxyz"],
  ["*", ""],
  ["0", "+"],
  ["#", ""],
];

function newId(): string {
  return `console-${Date.now().toString(36)}-${Math.floor(Math.random() * 1e9).toString(36)}`;
}

/** What was typed where a PIN was asked for is shown to nobody, also not here. */
function shown(input: string, asked: string): string {
  return /\bPIN\b/i.test(asked) && /^\d{3,}$/.test(input) ? "•".repeat(input.length) : input;
}

/** A telephone to try the menu with. */
export default function TelephonePage() {
  const [number, setNumber] = useState("+254700000001");
  const [code, setCode] = useState("*2233#");
  const [call, setCall] = useState<Call>();
  const [input, setInput] = useState("");
  const { run, isBusy: busy, error } = useDoing();
  const isOpen = call?.open === true;
  const usual = useFeatures().screen;
  // A service code may have a limit of its own; it is asked for when it is dialled.
  const [dialled, setDialled] = useState(code);
  const own = useAsked({
    queryKey: ["screen", dialled],
    queryFn: async () => (await fetchScreen(dialled)) ?? null,
    refetchOnWindowFocus: false,
  });
  const size = own.data ?? usual;

  function ask(id: string, text: string, path: Call["path"]) {
    run(async () => {
      const reply = await fetch("/api/ussd", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sessionId: id, serviceCode: code, phoneNumber: number, text }),
      });
      const answer = await reply.text();
      const match = /^(CON|END) ([\s\S]*)$/.exec(answer);
      if (!match) {
        const said = { status: String(reply.status), answer: answer.slice(0, 200) };
        throw new Error(say("telephone.networkAnswered", said));
      }
      const screen = match[2] ?? "";
      const last = path.at(-1);
      setCall({
        id,
        text,
        screen,
        open: match[1] === "CON",
        path: last ? [...path.slice(0, -1), { ...last, screen }] : path,
      });
      setInput("");
    });
  }
  function dial() {
    setDialled(code);
    ask(newId(), "", []);
  }
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (!call?.open || input === "" || busy) return;
    const path = [...call.path, { input: shown(input, call.screen), screen: "" }];
    ask(call.id, call.text ? `${call.text}*${input}` : input, path);
  }
  function onKey(event: KeyboardEvent) {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey) return;
    if (isOpen && /^[\d*#]$/.test(event.key)) setInput(input + event.key);
    else if (isOpen && event.key === "Backspace") setInput(input.slice(0, -1));
    else return;
    event.preventDefault();
  }
  const reply = useRef<HTMLInputElement>(null);
  const dialling = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    // What is asked next has the focus: a reply, or another call once this one is over.
    // Where a finger points it would bring up a keyboard over the telephone's own.
    if (busy || !matchMedia("(pointer: fine)").matches) return;
    if (isOpen) reply.current?.focus();
    else if (wasOpen.current) dialling.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen, busy]);

  const air = call ? airTime(call.screen, size) : undefined;
  return (
    <div className="page" onKeyDown={onKey}>
      <header className="page-head">
        <div>
          <h1>{say("telephone.title")}</h1>
          <p className="soft">{say("telephone.what")}</p>
        </div>
      </header>
      <Problem error={error} />
      <div className="phone-layout">
        <div className="phone">
          <div className="phone-ear" aria-hidden="true" />
          <div
            className="screen"
            role="log"
            aria-live="polite"
            aria-label={say("telephone.screen")}
            tabIndex={0}
          >
            {call ? (
              <pre dir="auto">{call.screen}</pre>
            ) : (
              <p className="dial-hint">
                <Icon name="telephone" />
                {say("telephone.dialToBegin", { code })}
                <span className="small">{say("telephone.thenType")}</span>
              </p>
            )}
          </div>
          <form onSubmit={send}>
            <label className="visually-hidden" htmlFor="reply">
              {say("telephone.yourReply")}
            </label>
            <input
              ref={reply}
              id="reply"
              data-entry
              className="phone-entry"
              autoComplete="off"
              value={input}
              disabled={!isOpen || busy}
              placeholder={isOpen ? say("telephone.reply") : ""}
              onChange={(event) => setInput(event.target.value)}
            />
            <div className="phone-calls">
              <button
                type="button"
                className="hang-up"
                disabled={!isOpen}
                onClick={() => {
                  setCall(undefined);
                  setInput("");
                }}
              >
                {say("telephone.hangUp")}
              </button>
              {isOpen ? (
                <button className="primary" type="submit" disabled={busy || input === ""}>
                  {say("telephone.send")}
                </button>
              ) : (
                <button
                  ref={dialling}
                  className="primary"
                  type="button"
                  disabled={busy}
                  onClick={dial}
                >
                  {say("telephone.dial", { code })}
                </button>
              )}
            </div>
            <div className="keys">
              {keys.map(([key, letters]) => (
                <button
                  key={key}
                  type="button"
                  data-letters={letters}
                  disabled={!isOpen || busy}
                  onClick={() => setInput(input + key)}
                >
                  {key}
                </button>
              ))}
            </div>
          </form>
        </div>
        <div className="stack">
          <section className="card stack" aria-label={say("telephone.thisCall")}>
            <h2>{say("telephone.thisCall")}</h2>
            <dl className="facts">
              <dt>{say("telephone.state")}</dt>
              <dd>
                {call ? (
                  <span className={isOpen ? "badge good" : "badge"}>
                    {say(isOpen ? "telephone.open" : "telephone.ended")}
                  </span>
                ) : (
                  <span className="badge">{say("telephone.idle")}</span>
                )}
              </dd>
              <dt>{say("telephone.path")}</dt>
              <dd className="mono" dir="auto">
                {call?.path.map((p) => p.input).join(" › ") || "–"}
              </dd>
              <dt>
                {say(air?.unit === "characters" ? "telephone.characters" : "telephone.septets")}
              </dt>
              <dd>
                {air ? (
                  <>
                    <span className={air.used > air.limit ? "bad" : ""}>
                      {say("telephone.usedOf", { used: air.used, limit: air.limit })}
                    </span>
                    <meter
                      min={0}
                      max={air.limit}
                      high={air.limit * 0.9}
                      value={Math.min(air.used, air.limit)}
                      aria-label={say("telephone.roomUsed")}
                    />
                  </>
                ) : (
                  "–"
                )}
              </dd>
            </dl>
            {call && call.path.length > 0 && (
              <ol className="walked" aria-label={say("telephone.pathWalked")}>
                {call.path.map((step, i) => (
                  <li key={i}>
                    <kbd dir="auto">{step.input}</kbd>
                    <span className="soft small" dir="auto">
                      {step.screen.split("\n")[0]}
                    </span>
                  </li>
                ))}
              </ol>
            )}
          </section>
          <section className="card stack" aria-label={say("telephone.theTelephone")}>
            <h2>{say("telephone.theTelephone")}</h2>
            <div className="grid">
              <label>
                {say("telephone.telephoneNumber")}
                <input
                  value={number}
                  disabled={isOpen}
                  onChange={(event) => setNumber(event.target.value)}
                />
              </label>
              <label>
                {say("telephone.serviceCode")}
                <input
                  value={code}
                  disabled={isOpen}
                  onChange={(event) => setCode(event.target.value)}
                />
              </label>
            </div>
          </section>
        </div>
      </div>
    </div>
  );
}
