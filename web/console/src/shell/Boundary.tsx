import { Component, type ReactNode } from "react";
import { messageOf } from "./format";

interface Props {
  /** What to show instead; the default says what happened. */
  fallback?: (problem: string) => ReactNode;
  children: ReactNode;
}

/**
 * Keeps a part that cannot be drawn from taking the rest of the page along:
 * what oracles and servers send is not always what was agreed on.
 */
export class Boundary extends Component<Props, { problem: string }> {
  override state = { problem: "" };

  static getDerivedStateFromError(cause: unknown) {
    return { problem: messageOf(cause) || "unknown" };
  }

  override render() {
    const { problem } = this.state;
    if (!problem) return this.props.children;
    return (
      this.props.fallback?.(problem) ?? (
        <p className="notice bad">This part cannot be shown: {problem}</p>
      )
    );
  }
}
