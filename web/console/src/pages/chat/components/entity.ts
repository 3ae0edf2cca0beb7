/** An entity of the chain, as far as people want to see it at a glance. */
export interface Entity {
  id: string;
  name: string;
  type: string;
  status: string;
  isVerified: boolean;
  from: string;
  until: string;
  controllers: string[];
  services: { name: string; type: string; endpoint: string }[];
  resources: { name: string; about: string; type: string; isEncrypted: boolean }[];
}

/** How many services and resources are looked at. */
const most = 20;

/** Reads a reply of the gateway's entity route; undefined is none. */
export function readEntity(value: unknown): Entity | undefined {
  const reply = record(value);
  const entity = record(reply["entity"]);
  const document = record(reply["iidDocument"] ?? reply["iid_document"]);
  const id = text(entity["id"]);
  if (id === "") return undefined;
  const status = entity["status"];
  return {
    id,
    name: text(document["alsoKnownAs"] ?? document["also_known_as"]),
    type: text(entity["type"]),
    // A number that every issuer reads in its own way; zero says nothing.
    status: status ? String(status).slice(0, 40) : "",
    isVerified: (entity["entity_verified"] ?? entity["entityVerified"]) === true,
    from: text(entity["start_date"] ?? entity["startDate"]),
    until: text(entity["end_date"] ?? entity["endDate"]),
    controllers: list(document["controller"]).map(text).filter(Boolean),
    services: records(document["service"]).map((s) => ({
      name: fragment(text(s["id"])),
      type: text(s["type"]),
      endpoint: text(s["serviceEndpoint"] ?? s["service_endpoint"]),
    })),
    resources: records(document["linkedResource"] ?? document["linked_resource"]).map((r) => ({
      name: fragment(text(r["id"])),
      about: text(r["description"]) || text(r["type"]),
      type: text(r["type"]),
      isEncrypted: String(r["encrypted"]) === "true",
    })),
  };
}

/** The part of an id that names a thing inside its document. */
function fragment(id: string): string {
  return id.slice(id.lastIndexOf("#") + 1);
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

function records(value: unknown): Record<string, unknown>[] {
  return list(value)
    .map(record)
    .filter((r) => typeof r["id"] === "string");
}

function text(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 500) : "";
}
