import { useState, type FormEvent } from "react";
import type { Session } from "../../identity/session";
import { once, useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { useFeatures } from "../../shell/features";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Mark } from "../../shell/Shell";
import { AddressCard } from "../operator/oracle/AddressCard";
import { DoorCard } from "../operator/oracle/DoorCard";
import { ModelCard } from "../operator/oracle/ModelCard";
import { NameCard } from "../operator/oracle/NameCard";
import { codeOf } from "../invite/redeem";
import { ask, NotOperator } from "../operator/api";
import type { Role } from "../operator/people";
import { KnowledgeCard } from "./KnowledgeCard";
import { TelephoneCard } from "./TelephoneCard";
import {
  becomeOwner,
  callIt,
  instructionsOf,
  invite,
  readInstructions,
  writeInstructions,
  type Character,
} from "./setup";
import { say } from "../../words";
import "./setup.css";

/** Who opens the page: with a link, or back again with a role, or neither. */
type Opener = "new" | "known" | "nobody";

/** Whoever may change things comes back without a link, after a look at the simulator for one. */
async function returning(session: Session): Promise<Opener> {
  try {
    const { role } = await ask<{ role: Role }>(session, "/operator/me");
    return role === "viewer" ? "nobody" : "known";
  } catch (cause) {
    if (cause instanceof NotOperator) return "nobody";
    throw cause;
  }
}

/** Opens the setup link in the address: whoever comes first is the owner, and says what is served here. */
export default function SetupPage({ session }: { session: Session }) {
  const [code] = useState(() => codeOf(location.hash));
  const { data, error, again } = useAsked({
    queryKey: ["owner", code],
    queryFn: async (): Promise<Opener> => {
      if (!code) return returning(session);
      await becomeOwner(session, code);
      // The code is used up: it has no more business in the address or its history.
      history.replaceState(null, "", location.pathname);
      return "new";
    },
    ...once,
  });
  if (data === "new" || data === "known")
    return <Questions session={session} isNew={data === "new"} />;
  const problem = error || (data === "nobody" ? say("invite.copyAgain") : "");
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <div className="sign-in-mark">
          <Mark />
        </div>
        <h1>{say(data === "nobody" ? "invite.incomplete" : "setup.yourOwn")}</h1>
        {problem ? <p role="alert">{problem}</p> : <p role="status">{say("invite.oneMoment")}</p>}
        {error && (
          <button className="primary wide" type="button" onClick={() => void again()}>
            {say("shell.tryAgain")}
          </button>
        )}
      </div>
    </main>
  );
}

/** What an owner decides first. Each answer counts at once; nothing has to be answered. */
function Questions({ session, isNew }: { session: Session; isNew: boolean }) {
  const { services } = useFeatures();
  return (
    <main className="page setup" id="main">
      <header className="page-head">
        <div>
          <h1>{say(isNew ? "setup.owner" : "setup.yourOwn")}</h1>
          <p className="soft">{say(isNew ? "setup.ownerHint" : "setup.againHint")}</p>
        </div>
      </header>
      <div className="stack">
        <CharacterCard session={session} />
        <DoorCard mayChange>
          {(door) => door !== "closed" && <Invitation session={session} />}
        </DoorCard>
        {services.includes("oracle") && <ModelCard mayChange />}
        {services.includes("filestore") && <KnowledgeCard session={session} />}
        {services.includes("ussd") && <TelephoneCard />}
        <AddressCard mayChange />
        <p className="soft">{say("setup.anew")}</p>
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
      await callIt(session, said.name.trim());
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
    <>
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
      {isTold && !isKept && <NameCard mayChange />}
    </>
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
