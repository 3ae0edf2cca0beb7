import { errorFrom } from "./errors";
import type { Loaded } from "./resource";

/** Where an oracle lives and what it costs. */
export interface OracleConfig {
  apiUrl: string | null;
  socketUrl: string | null;
  model: string | null;
  price: { amount: string; currency: string } | null;
  name: string | null;
}

export interface OracleOverrides {
  baseUrl?: string;
  wsUrl?: string;
}

interface Service {
  id?: string;
  type?: string;
  serviceEndpoint?: string;
  service_endpoint?: string;
}

interface LinkedResource {
  id?: string;
  type?: string;
  description?: string;
  serviceEndpoint?: string;
  service_endpoint?: string;
}

interface EntityReply {
  entity?: { service?: Service[] };
  iidDocument?: { service?: Service[]; linkedResource?: LinkedResource[] };
  iid_document?: { service?: Service[]; linked_resource?: LinkedResource[] };
}

function origin(address: string | undefined, schemes: RegExp): string | null {
  if (!address) return null;
  try {
    const url = new URL(address);
    return schemes.test(url.protocol) ? url.origin : null;
  } catch {
    return null;
  }
}

/** Reads an entity's services; the first that fits wins. */
export function readEntity(reply: unknown): OracleConfig {
  const r = record(reply) as EntityReply;
  const services = [
    ...list<Service>(r.iidDocument?.service),
    ...list<Service>(r.iid_document?.service),
    ...list<Service>(r.entity?.service),
  ];
  const endpoint = (type: string, fragment: string) =>
    services
      .filter((s) => s.type === type || endsWith(s.id, fragment))
      .map((s) => s.serviceEndpoint ?? s.service_endpoint)
      .find((s) => typeof s === "string" && s !== "");
  const linked = [
    ...list<LinkedResource>(r.iidDocument?.linkedResource),
    ...list<LinkedResource>(r.iid_document?.linked_resource),
  ];
  const content = (fragment: string) => {
    const found = linked.find((l) => endsWith(l.id, fragment));
    return inlineJSON(found?.serviceEndpoint ?? found?.service_endpoint);
  };
  const fee = content("#fee");
  const spec = record(record(fee["offers"])["priceSpecification"]);
  const model = content("#model")["model"];
  const name = fee["name"];
  return {
    apiUrl: origin(endpoint("oracleService", "#api"), /^https?:$/),
    socketUrl: origin(endpoint("wsService", "#ws"), /^(https?|wss?):$/),
    model: typeof model === "string" ? model : null,
    price:
      spec["price"] === undefined
        ? null
        : { amount: String(spec["price"]), currency: String(spec["priceCurrency"] ?? "") },
    name: typeof name === "string" ? name : null,
  };
}

/** The objects of a list, if it is one. Entities are written by anybody. */
function list<T>(value: unknown): T[] {
  return Array.isArray(value) ? value.filter((v) => v !== null && typeof v === "object") : [];
}

function endsWith(id: unknown, fragment: string): boolean {
  return typeof id === "string" && id.endsWith(fragment);
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

/** Content that a resource carries in its own address. Others are not fetched. */
function inlineJSON(address: unknown): Record<string, unknown> {
  const match = /^data:[^,]*;base64,(.*)$/.exec(typeof address === "string" ? address : "");
  if (!match?.[1]) return {};
  try {
    const bytes = Uint8Array.from(atob(match[1]), (c) => c.charCodeAt(0));
    return record(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
}

/**
 * Asks the protocol's query gateway for an oracle's entity.
 *
 * @param gateway - base address of the gateway with its prefix, such as https://oracle.example/ixo
 */
export async function resolveOracle(
  gateway: string,
  oracleDid: string,
  fetcher: typeof fetch = (...args) => fetch(...args),
): Promise<OracleConfig> {
  const response = await fetcher(
    `${gateway.replace(/\/+$/, "")}/entity/${encodeURIComponent(oracleDid)}`,
  );
  if (!response.ok) throw await errorFrom(response);
  return readEntity(await response.json());
}

/** Where an oracle is asked, as far as it is known. */
export interface Address {
  apiUrl: string | null;
  socketUrl: string | null;
  isReady: boolean;
  error: Error | undefined;
}

const unresolved = new Error("No query gateway is configured, and no overrides are given");

/** What the page says comes before what the gateway told. */
export function addressOf(
  gateway: string | undefined,
  found: Loaded<OracleConfig> | undefined,
  overrides: OracleOverrides | undefined,
): Address {
  const apiUrl = overrides?.baseUrl ?? found?.data?.apiUrl ?? null;
  return {
    apiUrl,
    socketUrl: overrides?.wsUrl ?? found?.data?.socketUrl ?? apiUrl,
    isReady: apiUrl !== null && (overrides?.baseUrl !== undefined || !found?.isLoading),
    error: apiUrl !== null ? undefined : gateway ? found?.error : unresolved,
  };
}

/** The name under which a client keeps what the gateway told of an oracle. */
export function configKey(oracleDid: string): string {
  return `config ${oracleDid}`;
}
