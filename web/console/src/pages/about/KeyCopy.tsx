import { useState } from "react";
import { backupKey, lockKey, type KeptKey, type Protection } from "../../identity/vault";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { messageOf } from "../../shell/format";

const explained: Record<Protection, string> = {
  wrapped:
    "This browser signs with a key that no page can read, and keeps an encrypted copy of it. " +
    "Save a copy of your own, then lock the key: after that nothing here can show it again.",
  sealed:
    "The key is locked: this browser signs with it, and nothing can read it out, not even this page. " +
    "To use this identity elsewhere, enter the copy you saved.",
  readable:
    "This browser cannot lock keys here: that needs HTTPS (or localhost) and a browser with Ed25519. " +
    "The key is stored readable, and any script that runs on this page could copy it.",
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
  return (
    <>
      <p className="soft">{explained[protection]}</p>
      <div className="row">
        {protection !== "sealed" && (
          <button
            type="button"
            onClick={() => (digits ? setDigits("") : void show())}
            aria-expanded={digits !== ""}
          >
            {digits ? "Hide the key" : "Export the key"}
          </button>
        )}
        {protection === "wrapped" && !digits && (
          <button type="button" onClick={() => setDeclining(true)}>
            Lock without a copy
          </button>
        )}
        <button type="button" className="danger" onClick={props.onSignOut}>
          Sign out
        </button>
      </div>
      {digits && (
        <div className="notice exported">
          <p>Anyone with these digits can act as you. Keep them where you keep passwords.</p>
          <pre>{digits}</pre>
          <div className="row">
            <CopyButton text={digits} label="Copy the key" />
            {protection === "wrapped" && (
              <button type="button" className="primary" onClick={() => void lock()}>
                I saved it, lock the key
              </button>
            )}
          </div>
        </div>
      )}
      {isDeclining && (
        <Confirm
          title="Lock without a copy?"
          action="Lock the key"
          onConfirm={() => void lock()}
          onClose={() => setDeclining(false)}
        >
          The key can then never be shown again. If this browser loses its data, this identity is
          lost, with its files and conversations.
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
