import { useSyncExternalStore } from "react";

const base = "/console/";

function subscribe(listener: () => void): () => void {
  addEventListener("popstate", listener);
  return () => removeEventListener("popstate", listener);
}

function current(): string {
  return location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
}

/** The path below /console/, such as "chat/123". */
export function usePath(): string {
  return useSyncExternalStore(subscribe, current);
}

export function href(path: string): string {
  return base + path;
}

export function go(path: string): void {
  history.pushState(null, "", href(path));
  dispatchEvent(new PopStateEvent("popstate"));
}
