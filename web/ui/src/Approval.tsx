import type { IApproval, UseApprovalsResult } from "@castalia/oracles-client/approvals";
import { useState } from "react";
import { messageOf, useLabels, type Labels } from "./labels";
import { Boundary } from "./parts/Boundary";
import { Button } from "./parts/Button";
import { focusEntry } from "./parts/entry";
import { Hidden } from "./parts/Hidden";
import { Icon } from "./parts/Icon";
import { Problem } from "./parts/Problem";
import { Question } from "./Question";
import { argumentsInWords, nameOf } from "./toolWords";

function reasonOf(reason: string, labels: Labels): string {
  switch (reason) {
    case "operator":
      return labels.whyOperator;
    case "untrusted":
      return labels.whyUntrusted;
    case "delegation":
      return labels.whyDelegation;
    default:
      return labels.whyConfirm;
  }
}

function announced(a: IApproval, labels: Labels): string {
  const { tool, server } = nameOf(a.toolName);
  return a.question
    ? labels.asksYou(a.question.from || server || tool, tool)
    : labels.asksToUse(tool);
}

export interface ApprovalsProps {
  waiting: Pick<UseApprovalsResult, "approvals" | "approve" | "deny">;
}

/**
 * Calls that wait for the reader's word, and those for which it came too late. Delegations are
 * not among them: who signs them asks for them.
 */
export function Approvals({ waiting }: ApprovalsProps) {
  const labels = useLabels();
  const [error, setError] = useState("");
  const here = waiting.approvals.filter((a) => a.reason !== "delegation");
  const asked = here.filter((a) => a.state !== "expired");
  const late = here.filter((a) => a.state === "expired");

  function answer(approval: IApproval, give: (id: string) => Promise<void>) {
    setError("");
    // The card goes with its buttons; what is next is written below.
    if (asked.length === 1) focusEntry();
    give(approval.id).catch((cause: unknown) => setError(messageOf(cause, labels)));
  }
  return (
    <>
      <Hidden role="status">{asked.map((a) => announced(a, labels)).join(" ")}</Hidden>
      {asked.map((approval) => (
        // Strangers' servers wrote it: one that cannot be drawn leaves the chat there.
        <Boundary key={approval.id}>
          {approval.question ? (
            <Question
              approval={approval}
              onAnswer={(content) => answer(approval, (id) => waiting.approve(id, content))}
              onDeny={() => answer(approval, waiting.deny)}
            />
          ) : (
            <Approval
              approval={approval}
              onAllow={() => answer(approval, waiting.approve)}
              onDeny={() => answer(approval, waiting.deny)}
            />
          )}
        </Boundary>
      ))}
      {late.map((a) => (
        <p key={a.id} className="castalia-notice" role="status">
          {labels.tooLate(nameOf(a.toolName).tool)}
        </p>
      ))}
      {error && <Problem>{error}</Problem>}
    </>
  );
}

export interface ApprovalProps {
  approval: IApproval;
  onAllow: () => void;
  onDeny: () => void;
}

/** Asks whether a call may be made: what it is, with what, and why it is asked. */
export function Approval(props: ApprovalProps) {
  const { toolName, args, reason, state } = props.approval;
  const labels = useLabels();
  const { tool, server } = nameOf(toolName);
  const facts = argumentsInWords(args, labels);
  const isBusy = state === "answering";
  return (
    <div className="castalia-approval" role="group" aria-label={labels.mayUse(tool)}>
      <p className="castalia-approval-head">
        <Icon name="shield" />
        <span>
          <strong>{labels.mayUse(tool)}</strong>
          {server && <span className="castalia-soft"> {labels.belongsTo(server)}</span>}
        </span>
      </p>
      {facts.length > 0 && (
        <dl>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <p className="castalia-soft">{reasonOf(reason, labels)}</p>
      <div className="castalia-row">
        <Button look="primary" disabled={isBusy} onClick={props.onAllow}>
          {labels.allow}
        </Button>
        <Button disabled={isBusy} onClick={props.onDeny}>
          {labels.deny}
        </Button>
      </div>
    </div>
  );
}
