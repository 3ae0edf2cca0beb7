import { errorFrom } from "./errors";

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

function origin(address: string | undefined): string | null {
  if (!address) return null;
  try {
    return new URL(address).origin;
  } catch {
    return null;
  }
}

/** Reads an entity's services; the first that fits wins. */
export function readEntity(reply: unknown): OracleConfig {
  const r = (reply ?? {}) as EntityReply;
  const services = [
    ...(r.iidDocument?.service ?? []),
    ...(r.iid_document?.service ?? []),
    ...(r.entity?.service ?? []),
  ];
  const endpoint = (type: string, fragment: string) =>
    services
      .filter((s) => s.type === type || s.id?.endsWith(fragment))
      .map((s) => s.serviceEndpoint ?? s.service_endpoint)
      .find((s) => typeof s === "string" && s !== "");
  const linked = [
    ...(r.iidDocument?.linkedResource ?? []),
    ...(r.iid_document?.linked_resource ?? []),
  ];
  const content = (fragment: string) => {
    const found = linked.find((l) => l.id?.endsWith(fragment));
    return inlineJSON(found?.serviceEndpoint ?? found?.service_endpoint);
  };
  const fee = content("#fee");
  const spec = record(record(fee["offers"])["priceSpecification"]);
  const model = content("#model")["model"];
  const name = fee["name"];
  return {
    apiUrl: origin(endpoint("oracleService", "#api")),
    socketUrl: origin(endpoint("wsService", "#ws")),
    model: typeof model === "string" ? model : null,
    price:
      spec["price"] === undefined
        ? null
        : { amount: String(spec["price"]), currency: String(spec["priceCurrency"] ?? "") },
    name: typeof name === "string" ? name : null,
  };
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

/** Content that a resource carries in its own address. Others are not fetched. */
function inlineJSON(address: string | undefined): Record<string, unknown> {
  const match = /^data:[^,]*;base64,(.*)$/.exec(address ?? "");
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
