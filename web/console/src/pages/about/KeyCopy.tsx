import { lazy, Suspense, useState } from "react";
import { backupKey, lockKey, type KeptKey, type Protection } from "../../identity/vault";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { saveAs } from "../../shell/save";
import { say, type Key } from "../../words";
import "./keyCopy.css";

// Each is loaded with what it needs when it is asked for.
const KeyWords = lazy(() => import("./KeyWords"));
const KeyCode = lazy(() => import("./KeyCode"));

/** The command line reads it as it is. */
const fileName = "castalia.key";

const explained: Record<Protection, Key> = {
  wrapped: "about.wrapped",
  sealed: "about.sealed",
  readable: "about.readable",
};

type Form = "text" | "words" | "code";

const forms: [Form, Key][] = [
  ["text", "copy.text"],
  ["words", "copy.words"],
  ["code", "copy.code"],
];

/** How the key is kept, a copy of it while there is one to be had, and the way out. */
export function KeyCopy(props: {
  kept: KeptKey;
  onKey: (key: KeptKey) => void;
  onSignOut: () => void;
}) {
  const { did, protection } = props.kept;
  const [digits, setDigits] = useState("");
  const [form, setForm] = useState<Form>("text");
  const [isDeclining, setDeclining] = useState(false);
  const [error, setError] = useState("");

  async function run(work: () => Promise<void>) {
    setError("");
    try {
      await work();
    } catch (cause) {
      setDigits("");
      setError(messageOf(cause));
    }
  }
  const show = () => run(async () => setDigits(await backupKey(did)));
  const lock = () =>
    run(async () => {
      props.onKey(await lockKey(did));
      setDigits("");
    });
  const toLock = () => void lock();
  const isWrapped = protection === "wrapped";
  const save = () => saveAs(new Blob([`${digits}\n`], { type: "text/plain" }), fileName);
  return (
    <>
      <p className="soft">{say(explained[protection])}</p>
      <div className="row">
        {protection !== "sealed" && (
          <button
            type="button"
            onClick={() => (digits ? setDigits("") : void show())}
            aria-expanded={digits !== ""}
          >
            {say(digits ? "about.hideKey" : "about.exportKey")}
          </button>
        )}
        {isWrapped && !digits && (
          <button type="button" onClick={() => setDeclining(true)}>
            {say("about.lockUncopied")}
          </button>
        )}
        <button type="button" className="danger" onClick={props.onSignOut}>
          {say("about.signOut")}
        </button>
      </div>
      {digits && (
        <div className="notice exported key-copy">
          <fieldset className="copy-forms">
            <legend className="visually-hidden">{say("copy.how")}</legend>
            {forms.map(([one, name]) => (
              <label className="choice" key={one}>
                <input
                  type="radio"
                  name="copy-form"
                  checked={form === one}
                  onChange={() => setForm(one)}
                />
                {say(name)}
              </label>
            ))}
          </fieldset>
          {form === "text" && (
            <>
              <p>{say("about.digitsHint")}</p>
              <pre>{digits}</pre>
              <div className="row">
                <CopyButton text={digits} label={say("about.copyKey")} />
                <button type="button" onClick={save}>
                  <Icon name="download" /> {say("about.saveKey")}
                </button>
              </div>
            </>
          )}
          <Suspense fallback={<p className="soft">{say("shell.loading")}</p>}>
            {form === "words" && (
              <KeyWords digits={digits} onLock={isWrapped ? toLock : undefined} />
            )}
            {form === "code" && <KeyCode digits={digits} />}
          </Suspense>
          {isWrapped && form !== "words" && (
            <button type="button" className="primary" onClick={toLock}>
              {say("about.savedLock")}
            </button>
          )}
        </div>
      )}
      {isDeclining && (
        <Confirm
          title={say("about.lockUncopiedAsk")}
          action={say("about.lockKey")}
          onConfirm={() => void lock()}
          onClose={() => setDeclining(false)}
        >
          {say("about.lockUncopiedHint")}
        </Confirm>
      )}
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
    </>
  );
}
