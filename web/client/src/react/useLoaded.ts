import { useEffect, useState } from "react";
import type { OraclesClient } from "../core/client";

/** How long after a failure it is tried again. */
const pause = 3000;

/** Whether conversations can be joined; what makes them is loaded where it is wanted. */
export function useLoaded(client: OraclesClient): boolean {
  const [loaded, setLoaded] = useState<OraclesClient>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let gone = false;
    const load = () =>
      void client.load().then(
        () => {
          if (!gone) setLoaded(client);
        },
        () => {
          if (!gone) timer = setTimeout(load, pause);
        },
      );
    load();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [client]);
  return loaded === client;
}
