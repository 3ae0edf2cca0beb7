import { Component, type ReactNode } from "react";
import { messageOf, useLabels } from "../labels";

export interface BoundaryProps {
  /** What to show instead; the default says what happened. */
  fallback?: (problem: string) => ReactNode;
  children: ReactNode;
}

/**
 * Keeps a part that cannot be drawn from taking the rest of the page along:
 * what oracles and servers send is not always what was agreed on.
 */
export class Boundary extends Component<BoundaryProps, { failed?: { cause: unknown } }> {
  override state: { failed?: { cause: unknown } } = {};

  static getDerivedStateFromError(cause: unknown) {
    return { failed: { cause } };
  }

  override render() {
    const { failed } = this.state;
    return failed ? <Instead {...this.props} cause={failed.cause} /> : this.props.children;
  }
}

function Instead({ fallback, cause }: Omit<BoundaryProps, "children"> & { cause: unknown }) {
  const labels = useLabels();
  const problem = messageOf(cause, labels);
  return (
    fallback?.(problem) ?? (
      <p className="castalia-notice castalia-bad">{labels.cannotShow(problem)}</p>
    )
  );
}
