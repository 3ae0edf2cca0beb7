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
  const described = (fragment: string) =>
    linked.find((l) => l.id?.endsWith(fragment))?.description ?? null;
  const price = described("#fee")?.match(/^([0-9.]+)\s+(\S+)$/);
  return {
    apiUrl: origin(endpoint("oracleService", "#api")),
    socketUrl: origin(endpoint("wsService", "#ws")),
    model: described("#model"),
    price: price?.[1] && price[2] ? { amount: price[1], currency: price[2] } : null,
    name: described("#name"),
  };
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
