import { useEffect } from "react";

/** While something is under way, whoever closes or leaves the page by mistake is asked first. */
export function useStaying(isUnderWay: boolean): void {
  useEffect(() => {
    if (!isUnderWay) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isUnderWay]);
}
