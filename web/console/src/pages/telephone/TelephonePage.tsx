import { useState, type FormEvent } from "react";

const extension = new Set("^{}\\[~]|€\f");

/** Septets that a text needs on the air: extension characters count two. */
export function septets(text: string): number {
  return Array.from(text).reduce((n, c) => n + (extension.has(c) ? 2 : 1), 0);
}

interface Call {
  id: string;
  text: string;
  screen: string;
  open: boolean;
  path: string[];
}

const keys = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#"];

function newId(): string {
  return `console-${Date.now().toString(36)}-${Math.floor(Math.random() * 1e9).toString(36)}`;
}

/** A telephone to try the menu with. */
export function TelephonePage() {
  const [number, setNumber] = useState("+254700000001");
  const [code, setCode] = useState("*2233#");
  const [call, setCall] = useState<Call>();
  const [input, setInput] = useState("");
  const [busy, setBusy] = useState(false);

  async function ask(id: string, text: string, path: string[]) {
    setBusy(true);
    try {
      const reply = await fetch("/api/ussd", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sessionId: id, serviceCode: code, phoneNumber: number, text }),
      });
      const answer = await reply.text();
      setCall({ id, text, path, open: answer.startsWith("CON "), screen: answer.slice(4) });
    } finally {
      setBusy(false);
      setInput("");
    }
  }
  function send(event: FormEvent) {
    event.preventDefault();
    if (!call?.open || input === "") return;
    void ask(call.id, call.text ? `${call.text}*${input}` : input, [...call.path, input]);
  }
  return (
    <div className="page">
      <h1>Telephone</h1>
      <p className="soft">What people see who reach the oracle from any phone, without internet.</p>
      <div className="phone-layout">
        <div className="phone">
          <div className="screen" role="log" aria-live="polite" aria-label="Screen">
            {call ? <pre>{call.screen}</pre> : <p className="soft">Dial {code} to begin.</p>}
          </div>
          <form onSubmit={send}>
            <label className="visually-hidden" htmlFor="reply">
              Your reply
            </label>
            <input
              id="reply"
              inputMode="tel"
              autoComplete="off"
              value={input}
              disabled={!call?.open || busy}
              placeholder={call?.open ? "Reply" : ""}
              onChange={(event) => setInput(event.target.value)}
            />
            <div className="keys">
              {keys.map((key) => (
                <button
                  key={key}
                  type="button"
                  disabled={!call?.open || busy}
                  onClick={() => setInput(input + key)}
                >
                  {key}
                </button>
              ))}
            </div>
            <div className="row spread">
              <button type="button" className="danger" onClick={() => setCall(undefined)}>
                Hang up
              </button>
              {call?.open ? (
                <button className="primary" type="submit" disabled={busy || input === ""}>
                  Send
                </button>
              ) : (
                <button
                  className="primary"
                  type="button"
                  disabled={busy}
                  onClick={() => void ask(newId(), "", [])}
                >
                  Dial {code}
                </button>
              )}
            </div>
          </form>
        </div>
        <section className="card">
          <h2>This call</h2>
          <label>
            Telephone number
            <input value={number} onChange={(event) => setNumber(event.target.value)} />
          </label>
          <label>
            Service code
            <input value={code} onChange={(event) => setCode(event.target.value)} />
          </label>
          <dl className="facts">
            <dt>State</dt>
            <dd>{call ? (call.open ? "open" : "ended") : "idle"}</dd>
            <dt>Septets</dt>
            <dd>{call ? `${septets(call.screen)} of 182` : "–"}</dd>
            <dt>Path</dt>
            <dd className="mono">{call?.path.join(" › ") || "–"}</dd>
          </dl>
        </section>
      </div>
    </div>
  );
}
