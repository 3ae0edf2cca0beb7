import { useSession } from "../../../identity/session";
import { useAsked } from "../../../shell/asked";
import { listWebhooks } from "../../connect/webhooks";
import { ask } from "../api";

/** Something that a menu names by its id. */
export interface Offered {
  id: string;
  name: string;
}

/** An endpoint chose one of these before a menu may call it. */
const called = ["menu.called", "menu.*", "*"];

/** Where nothing can be offered, ids are typed. */
const nothing: readonly Offered[] = [];

/** The endpoints of whoever is signed in that menus may call. Those of others are typed by their ids. */
export function useEndpoints(): readonly Offered[] {
  const session = useSession();
  const { data } = useAsked({
    queryKey: ["menu", "endpoints"],
    queryFn: () => listWebhooks(session),
    refetchOnWindowFocus: false,
  });
  if (!data) return nothing;
  return data
    .filter(({ events }) => events.some((event) => called.includes(event)))
    .map(({ id, url, description }) => ({
      id,
      name: description ? `${description}: ${url}` : url,
    }));
}

/** The collections that answer everybody. */
export function useCollections(): readonly Offered[] {
  const session = useSession();
  const { data } = useAsked({
    queryKey: ["menu", "collections"],
    queryFn: () =>
      ask<{
        collections: { id: string; name: string; readers: string; published: boolean }[];
      }>(session, "/operator/knowledge/collections"),
    refetchOnWindowFocus: false,
  });
  if (!data) return nothing;
  return data.collections.filter(({ readers, published }) => published && readers === "everybody");
}
