import type { IApproval, UseApprovalsResult } from "@castalia/oracles-client/approvals";
import { useState } from "react";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { argumentsInWords, nameOf } from "./toolWords";

const reasons: Record<IApproval["reason"], string> = {
  confirm: "This tool asks before it does anything.",
  operator: "Tools of other servers ask you first.",
  untrusted: "The oracle has read text that others wrote, so it asks before it changes anything.",
  delegation: "It needs your permission.",
};

/** Calls that wait for the reader's word, and those for which it came too late. */
export function Approvals({ waiting }: { waiting: UseApprovalsResult }) {
  const [error, setError] = useState("");
  // Permission asks for delegations.
  const here = waiting.approvals.filter((a) => a.reason !== "delegation");
  const asked = here.filter((a) => a.state !== "expired");
  const late = here.filter((a) => a.state === "expired");

  function answer(approval: IApproval, give: (id: string) => Promise<void>) {
    setError("");
    // The card goes with its buttons; what is next is written below.
    if (asked.length === 1) document.getElementById("message")?.focus({ preventScroll: true });
    give(approval.id).catch((cause: unknown) => setError(messageOf(cause)));
  }
  return (
    <>
      <p className="visually-hidden" role="status">
        {asked.map((a) => `The oracle asks: may it use ${nameOf(a.toolName).tool}?`).join(" ")}
      </p>
      {asked.map((approval) => (
        <Question
          key={approval.id}
          approval={approval}
          onAllow={() => answer(approval, waiting.approve)}
          onDeny={() => answer(approval, waiting.deny)}
        />
      ))}
      {late.map((a) => (
        <p key={a.id} className="notice" role="status">
          Nobody answered in time, so {nameOf(a.toolName).tool} was not used.
        </p>
      ))}
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
    </>
  );
}

function Question(props: { approval: IApproval; onAllow: () => void; onDeny: () => void }) {
  const { toolName, args, reason, state } = props.approval;
  const { tool, server } = nameOf(toolName);
  const facts = argumentsInWords(args);
  const isBusy = state === "answering";
  return (
    <div className="permission approval" role="group" aria-label={`May the oracle use ${tool}?`}>
      <p>
        <Icon name="shield" />
        <span>
          <strong>May the oracle use {tool}?</strong>
          {server && <span className="soft"> It belongs to {server}.</span>}
        </span>
      </p>
      {facts.length > 0 && (
        <dl className="facts">
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <p className="soft small">{reasons[reason] ?? reasons.confirm}</p>
      <div className="row answers">
        <button type="button" className="primary" disabled={isBusy} onClick={props.onAllow}>
          Allow
        </button>
        <button type="button" disabled={isBusy} onClick={props.onDeny}>
          Deny
        </button>
      </div>
    </div>
  );
}
