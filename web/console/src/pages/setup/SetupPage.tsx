import { useEffect, useState, type FormEvent } from "react";
import type { Session } from "../../identity/session";
import { CopyButton } from "../../shell/CopyButton";
import { messageOf, plural } from "../../shell/format";
import { unlessGone } from "../../shell/late";
import { Link } from "../../shell/Link";
import { Mark } from "../../shell/Shell";
import { codeOf } from "../invite/redeem";
import {
  becomeOwner,
  instructionsOf,
  invite,
  readAccess,
  readInstructions,
  testModels,
  writeInstructions,
  type Access,
  type Character,
  type Instructions,
  type ModelCheck,
} from "./setup";
import "./setup.css";

/** Opens the setup link in the address: whoever comes first is the owner, and says what is served here. */
export default function SetupPage({ session }: { session: Session }) {
  const [code] = useState(() => codeOf(location.hash));
  const [attempt, setAttempt] = useState(0);
  const [error, setError] = useState("");
  const [isOwner, setOwner] = useState(false);
  useEffect(() => {
    if (!code) return;
    return unlessGone(
      becomeOwner(session, code),
      () => {
        // The code is used up: it has no more business in the address or its history.
        history.replaceState(null, "", location.pathname);
        setOwner(true);
      },
      (cause) => setError(messageOf(cause)),
    );
  }, [session, code, attempt]);
  if (isOwner) return <Questions session={session} />;
  const problem = code ? error : "Copy it again, with everything that follows the # sign.";
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <div className="sign-in-mark">
          <Mark />
        </div>
        <h1>{code ? "Your own oracle" : "This link is not complete"}</h1>
        {problem ? <p role="alert">{problem}</p> : <p role="status">One moment…</p>}
        {code && error && (
          <button
            className="primary wide"
            type="button"
            onClick={() => {
              setError("");
              setAttempt(attempt + 1);
            }}
          >
            Try again
          </button>
        )}
      </div>
    </main>
  );
}

/** What an owner decides first. Each answer counts at once; nothing has to be answered. */
function Questions({ session }: { session: Session }) {
  return (
    <main className="page setup" id="main">
      <header className="page-head">
        <div>
          <h1>You are the owner</h1>
          <p className="soft">
            Nobody else can open this link any more. Your key, in this browser, is what shows it:
            keep a copy of it, on the About page.
          </p>
        </div>
      </header>
      <div className="stack">
        <CharacterCard session={session} />
        <AccessCard session={session} />
        <ModelCard session={session} />
        <p>
          <Link to="chat" className="button primary">
            Go to the oracle
          </Link>
        </p>
      </div>
    </main>
  );
}

function Failed({ error }: { error: string }) {
  return error ? (
    <p role="alert" className="notice bad">
      {error}
    </p>
  ) : null;
}

/** Who the oracle is and how it speaks: the first words of its instructions. */
function CharacterCard({ session }: { session: Session }) {
  const [known, setKnown] = useState<Instructions>();
  const [said, setSaid] = useState<Character>({ name: "", language: "", about: "" });
  const [error, setError] = useState("");
  const [isKept, setKept] = useState(false);
  useEffect(
    () => unlessGone(readInstructions(session), setKnown, (cause) => setError(messageOf(cause))),
    [session],
  );
  async function keep(event: FormEvent) {
    event.preventDefault();
    if (!known) return;
    setError("");
    try {
      await writeInstructions(session, instructionsOf(said), known.newest);
      setKept(true);
    } catch (cause) {
      setError(messageOf(cause));
    }
  }
  const field = (name: keyof Character) => ({
    value: said[name],
    onChange: (event: { target: { value: string } }) =>
      setSaid({ ...said, [name]: event.target.value }),
  });
  const isTold = known && (known.readOnly || known.text.trim() !== "");
  return (
    <section className="card stack" aria-label="Who it is">
      <h2>Who it is</h2>
      <Failed error={error} />
      {isKept ? (
        <p role="status">The oracle knows it. New conversations begin with it.</p>
      ) : isTold ? (
        <p>
          It has instructions already{known.where ? `, from ${known.where}` : ""}. They stay as they
          are.
        </p>
      ) : (
        <form className="stack" onSubmit={(event) => void keep(event)}>
          <label>
            Its name
            <input required maxLength={80} autoComplete="off" {...field("name")} />
          </label>
          <label>
            The language that it answers in
            <input maxLength={80} placeholder="that of the question" {...field("language")} />
          </label>
          <label>
            What it is for
            <textarea rows={3} maxLength={4000} {...field("about")} />
          </label>
          <p>
            <button type="submit" disabled={!known}>
              Keep it
            </button>
          </p>
        </form>
      )}
    </section>
  );
}

const doors: Record<Access["access"], string> = {
  open: "Everybody who makes a key may come in.",
  invite: "Members may come in, and whoever has an invitation.",
  closed: "Members alone may come in.",
};

function AccessCard({ session }: { session: Session }) {
  const [access, setAccess] = useState<Access>();
  const [link, setLink] = useState("");
  const [error, setError] = useState("");
  useEffect(
    () => unlessGone(readAccess(session), setAccess, (cause) => setError(messageOf(cause))),
    [session],
  );
  function make() {
    setError("");
    invite(session, location.origin).then(setLink, (cause: unknown) => setError(messageOf(cause)));
  }
  return (
    <section className="card stack" aria-label="Who may come">
      <h2>Who may come</h2>
      <Failed error={error} />
      {access && (
        <p>
          {doors[access.access]} There {access.members === 1 ? "is" : "are"}{" "}
          {plural(access.members, "member")}. <code>ACCESS</code> in the server&apos;s settings
          changes this.
        </p>
      )}
      {link ? (
        <p className="with-copy">
          <code>{link}</code> <CopyButton text={link} label="Copy the invitation" />
        </p>
      ) : (
        access &&
        access.access !== "closed" && (
          <p>
            <button type="button" onClick={make}>
              Make an invitation for one person
            </button>
          </p>
        )
      )}
    </section>
  );
}

function ModelCard({ session }: { session: Session }) {
  const [check, setCheck] = useState<ModelCheck>();
  const [isTesting, setTesting] = useState(false);
  const [error, setError] = useState("");
  function test() {
    setTesting(true);
    setError("");
    testModels(session)
      .then(setCheck, (cause: unknown) => setError(messageOf(cause)))
      .finally(() => setTesting(false));
  }
  return (
    <section className="card stack" aria-label="Its model">
      <h2>Its model</h2>
      <p>
        Without another one, the built-in guide answers. <code>MODEL</code> and its siblings in the
        server&apos;s settings, or the document of models, connect one.
      </p>
      <Failed error={error} />
      {check && (
        <div role="status">
          <ul>
            {check.findings.map(({ endpoint, model, ok, problem }) => (
              <li key={`${endpoint} ${model ?? ""}`}>
                {model ?? endpoint}: {ok ? "it answers" : (problem ?? "it does not answer")}
              </li>
            ))}
            {check.findings.length === 0 && <li>The built-in guide answers.</li>}
          </ul>
        </div>
      )}
      <p>
        <button type="button" disabled={isTesting} onClick={test}>
          {isTesting ? "Testing…" : "Test it"}
        </button>
      </p>
    </section>
  );
}
