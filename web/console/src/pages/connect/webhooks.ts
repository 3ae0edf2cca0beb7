import type { Session } from "../../identity/session";
import { signed } from "./signed";

/** An address that is told of events. */
export interface Webhook {
  id: string;
  url: string;
  description?: string;
  events: string[];
  status: "active" | "paused" | "disabled";
  /** Why it was switched off. */
  reason?: string;
  lastSuccess?: string;
  failingSince?: string;
}

/** An event on its way to an address. */
export interface Delivery {
  event: string;
  type: string;
  created: string;
  state: "waiting" | "delivered" | "failed" | "held";
  attempts: number;
  next?: string;
  status?: number;
  error?: string;
  answer?: string;
}

export interface EventType {
  name: string;
  doc: string;
}

const path = "/api/webhooks";
const at = (id: string, rest = "") => `${path}/${encodeURIComponent(id)}${rest}`;

export const listWebhooks = async (session: Session) =>
  (await signed<{ webhooks: Webhook[] }>(session, "GET", path)).webhooks;

export const listTypes = async (session: Session) =>
  (await signed<{ types: EventType[] }>(session, "GET", `${path}/types`)).types;

/** Makes a webhook and returns its secret, which is told this once. */
export const makeWebhook = async (
  session: Session,
  hook: { url: string; events: string[]; description?: string },
) => (await signed<{ secret: string }>(session, "POST", path, hook)).secret;

export const setStatus = (session: Session, id: string, status: "active" | "paused") =>
  signed(session, "PATCH", at(id), { status });

export const removeWebhook = (session: Session, id: string) => signed(session, "DELETE", at(id));

export const newSecret = async (session: Session, id: string) =>
  (await signed<{ secret: string }>(session, "POST", at(id, "/secret"))).secret;

export const sendTest = (session: Session, id: string) => signed(session, "POST", at(id, "/test"));

export const listDeliveries = async (session: Session, id: string) =>
  (await signed<{ deliveries: Delivery[] }>(session, "GET", at(id, "/deliveries"))).deliveries;

export const sendAgain = (session: Session, id: string, event: string) =>
  signed(session, "POST", at(id, `/deliveries/${encodeURIComponent(event)}/replay`));

/** What somebody chose, as the server wants it: a group that is chosen whole by its name. */
export function chosenEvents(types: EventType[], chosen: ReadonlySet<string>): string[] {
  if (types.every(({ name }) => chosen.has(name))) return ["*"];
  const groups = new Map<string, string[]>();
  for (const { name } of types) {
    const group = name.slice(0, name.indexOf("."));
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [...groups].flatMap(([group, names]) =>
    names.every((name) => chosen.has(name))
      ? names.length > 1
        ? [`${group}.*`]
        : names
      : names.filter((name) => chosen.has(name)),
  );
}
