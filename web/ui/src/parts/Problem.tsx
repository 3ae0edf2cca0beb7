import type { ReactNode } from "react";

/** What went wrong, read out at once. */
export function Problem({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="castalia-notice castalia-bad">
      {children}
    </p>
  );
}
