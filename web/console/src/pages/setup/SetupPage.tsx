import { useState, type FormEvent } from "react";
import type { Session } from "../../identity/session";
import { once, useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { plural } from "../../shell/format";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
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
  type ModelCheck,
} from "./setup";
import "./setup.css";

/** Opens the setup link in the address: whoever comes first is the owner, and says what is served here. */
export default function SetupPage({ session }: { session: Session }) {
  const [code] = useState(() => codeOf(location.hash));
  const {
    data: isOwner,
    error,
    again,
  } = useAsked({
    queryKey: ["owner", code],
    queryFn: async () => {
      await becomeOwner(session, code);
      // The code is used up: it has no more business in the address or its history.
      history.replaceState(null, "", location.pathname);
      return true;
    },
    enabled: code !== "",
    ...once,
  });
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
          <button className="primary wide" type="button" onClick={() => void again()}>
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

/** Who the oracle is and how it speaks: the first words of its instructions. */
function CharacterCard({ session }: { session: Session }) {
  const { data: known, error } = useAsked({
    queryKey: ["instructions"],
    queryFn: () => readInstructions(session),
    refetchOnWindowFocus: false,
  });
  const [said, setSaid] = useState<Character>({ name: "", language: "", about: "" });
  const keeping = useDoing();
  const [isKept, setKept] = useState(false);
  function keep(event: FormEvent) {
    event.preventDefault();
    if (!known) return;
    keeping.run(async () => {
      await writeInstructions(session, instructionsOf(said), known.newest);
      setKept(true);
    });
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
      <Problem error={keeping.error || error} />
      {isKept ? (
        <p role="status">The oracle knows it. New conversations begin with it.</p>
      ) : isTold ? (
        <p>
          It has instructions already{known.where ? `, from ${known.where}` : ""}. They stay as they
          are.
        </p>
      ) : (
        <form className="stack" onSubmit={keep}>
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
  const { data: access, error } = useAsked({
    queryKey: ["access"],
    queryFn: () => readAccess(session),
  });
  const inviting = useDoing(["access"]);
  const [link, setLink] = useState("");
  const make = () => inviting.run(async () => setLink(await invite(session, location.origin)));
  return (
    <section className="card stack" aria-label="Who may come">
      <h2>Who may come</h2>
      <Problem error={inviting.error || error} />
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
  const { run, isBusy, error } = useDoing();
  const test = () => run(async () => setCheck(await testModels(session)));
  return (
    <section className="card stack" aria-label="Its model">
      <h2>Its model</h2>
      <p>
        Without another one, the built-in guide answers. <code>MODEL</code> and its siblings in the
        server&apos;s settings, or the document of models, connect one.
      </p>
      <Problem error={error} />
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
        <button type="button" disabled={isBusy} onClick={test}>
          {isBusy ? "Testing…" : "Test it"}
        </button>
      </p>
    </section>
  );
}
