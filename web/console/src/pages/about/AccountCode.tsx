import { useState, type FormEvent, type ReactNode } from "react";
import type { KeyCode } from "../../identity/newKeys";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";

/** Asks for a code for the account of a telephone, and shows it with what is done with it there. */
export function AccountCode(props: {
  ask: (account: string) => Promise<KeyCode>;
  action: string;
  /** What is done with the code. */
  steps: (code: KeyCode) => string;
  /** Whether what the code was for is done: then it is shown no longer. */
  isDone?: (code: KeyCode) => boolean;
  children?: ReactNode;
}) {
  const { did } = useSession().key;
  const doing = useDoing();
  const [account, setAccount] = useState("");
  const [made, setMade] = useState<KeyCode>();
  const code = made && !props.isDone?.(made) ? made : undefined;
  function submit(event: FormEvent) {
    event.preventDefault();
    setMade(undefined);
    doing.run(async () => setMade(await props.ask(account.trim().toUpperCase())));
  }
  return (
    <>
      <form className="stack" onSubmit={submit}>
        <label>
          {say("keys.account")}
          <input
            value={account}
            placeholder="C1A2B3C4D"
            autoComplete="off"
            dir="ltr"
            onChange={(event) => setAccount(event.target.value)}
          />
        </label>
        <p className="soft small">{say("keys.accountHint")}</p>
        <button type="submit" disabled={doing.isBusy || account.trim() === ""}>
          {props.action}
        </button>
      </form>
      <Problem error={doing.error} />
      {code && (
        <div className="stack" role="status">
          <CodeFacts code={code.code} />
          <p>{props.steps(code)}</p>
          <p>{say("keys.codeShows")}</p>
          <dl className="facts">
            <dt>{say("about.did")}</dt>
            <dd className="mono">{did}</dd>
          </dl>
        </div>
      )}
    </>
  );
}

/** A code, to be read out and copied. */
export function CodeFacts({ code }: { code: string }) {
  return (
    <dl className="facts">
      <dt>{say("keys.codeIs")}</dt>
      <dd className="mono with-copy">
        <strong dir="ltr">{code}</strong>
        <CopyButton text={code} label={say("keys.copyCode")} />
      </dd>
    </dl>
  );
}
