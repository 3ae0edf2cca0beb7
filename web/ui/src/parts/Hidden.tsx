import type { ReactNode } from "react";

/** For those who listen alone. A status is read out when it changes. */
export function Hidden({ children, isStatus }: { children: ReactNode; isStatus?: boolean }) {
  return isStatus ? (
    <p className="castalia-hidden" role="status">
      {children}
    </p>
  ) : (
    <span className="castalia-hidden">{children}</span>
  );
}
