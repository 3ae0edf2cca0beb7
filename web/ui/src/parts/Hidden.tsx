import type { ReactNode } from "react";

/** For those who listen alone. A status is read out when it changes, an alert at once. */
export function Hidden({ children, role }: { children: ReactNode; role?: "status" | "alert" }) {
  return role ? (
    <p className="castalia-hidden" role={role}>
      {children}
    </p>
  ) : (
    <span className="castalia-hidden">{children}</span>
  );
}
