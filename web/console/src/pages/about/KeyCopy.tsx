import { useState } from "react";
import { backupKey, lockKey, type KeptKey, type Protection } from "../../identity/vault";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { saveAs } from "../../shell/save";
import { say, type Key } from "../../words";

/** The command line reads it as it is. */
const fileName = "castalia.key";

const explained: Record<Protection, Key> = {
  wrapped: "about.wrapped",
  sealed: "about.sealed",
  readable: "about.readable",
};

/** How the key is kept, a copy of it while there is one to be had, and the way out. */
export function KeyCopy(props: {
  kept: KeptKey;
  onKey: (key: KeptKey) => void;
  onSignOut: () => void;
}) {
  const { did, protection } = props.kept;
  const [digits, setDigits] = useState("");
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
        {protection === "wrapped" && !digits && (
          <button type="button" onClick={() => setDeclining(true)}>
            {say("about.lockUncopied")}
          </button>
        )}
        <button type="button" className="danger" onClick={props.onSignOut}>
          {say("about.signOut")}
        </button>
      </div>
      {digits && (
        <div className="notice exported">
          <p>{say("about.digitsHint")}</p>
          <pre>{digits}</pre>
          <div className="row">
            <CopyButton text={digits} label={say("about.copyKey")} />
            <button type="button" onClick={save}>
              <Icon name="download" /> {say("about.saveKey")}
            </button>
            {protection === "wrapped" && (
              <button type="button" className="primary" onClick={() => void lock()}>
                {say("about.savedLock")}
              </button>
            )}
          </div>
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
