import { useState, type FormEvent } from "react";
import type { Session } from "../../identity/session";
import { once, useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { useFeatures } from "../../shell/features";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Mark } from "../../shell/Shell";
import { DoorCard } from "../operator/oracle/DoorCard";
import { ModelCard } from "../operator/oracle/ModelCard";
import { codeOf } from "../invite/redeem";
import {
  becomeOwner,
  instructionsOf,
  invite,
  readInstructions,
  writeInstructions,
  type Character,
} from "./setup";
import { say } from "../../words";
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
  const problem = code ? error : say("invite.copyAgain");
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <div className="sign-in-mark">
          <Mark />
        </div>
        <h1>{say(code ? "setup.yourOwn" : "invite.incomplete")}</h1>
        {problem ? <p role="alert">{problem}</p> : <p role="status">{say("invite.oneMoment")}</p>}
        {code && error && (
          <button className="primary wide" type="button" onClick={() => void again()}>
            {say("shell.tryAgain")}
          </button>
        )}
      </div>
    </main>
  );
}

/** What an owner decides first. Each answer counts at once; nothing has to be answered. */
function Questions({ session }: { session: Session }) {
  const { services } = useFeatures();
  return (
    <main className="page setup" id="main">
      <header className="page-head">
        <div>
          <h1>{say("setup.owner")}</h1>
          <p className="soft">{say("setup.ownerHint")}</p>
        </div>
      </header>
      <div className="stack">
        <CharacterCard session={session} />
        <DoorCard mayChange>
          {(door) => door !== "closed" && <Invitation session={session} />}
        </DoorCard>
        {services.includes("oracle") && <ModelCard mayChange />}
        <p className="soft">{say("setup.later")}</p>
        <p>
          <Link to="chat" className="button primary">
            {say("setup.goToOracle")}
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
    <section className="card stack" aria-label={say("setup.whoItIs")}>
      <h2>{say("setup.whoItIs")}</h2>
      <Problem error={keeping.error || error} />
      {isKept ? (
        <p role="status">{say("setup.kept")}</p>
      ) : isTold ? (
        <p>{known.where ? say("setup.toldFrom", { where: known.where }) : say("setup.told")}</p>
      ) : (
        <form className="stack" onSubmit={keep}>
          <label>
            {say("setup.name")}
            <input required maxLength={80} autoComplete="off" {...field("name")} />
          </label>
          <label>
            {say("setup.language")}
            <input
              maxLength={80}
              placeholder={say("setup.languageOfQuestion")}
              {...field("language")}
            />
          </label>
          <label>
            {say("setup.purpose")}
            <textarea rows={3} maxLength={4000} {...field("about")} />
          </label>
          <p>
            <button type="submit" disabled={!known}>
              {say("setup.keep")}
            </button>
          </p>
        </form>
      )}
    </section>
  );
}

/** A link for one person, to be handed on. */
function Invitation({ session }: { session: Session }) {
  const { run, error } = useDoing(["/operator/access"]);
  const [link, setLink] = useState("");
  return (
    <>
      <Problem error={error} />
      {link ? (
        <p className="with-copy">
          <code>{link}</code> <CopyButton text={link} label={say("setup.copyInvitation")} />
        </p>
      ) : (
        <p>
          <button
            type="button"
            onClick={() => run(async () => setLink(await invite(session, location.origin)))}
          >
            {say("setup.makeInvitation")}
          </button>
        </p>
      )}
    </>
  );
}
