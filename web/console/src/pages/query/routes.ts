/** The part of an OpenAPI document that the explorer reads. */
export interface OpenApi {
  paths: Record<string, { get?: Operation }>;
}

interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: { type?: string; format?: string; enum?: string[] };
}

export interface Route {
  path: string;
  title: string;
  service: string;
  about: string;
  fields: Parameter[];
}

/** A gRPC service's full name, which only query routes have as their tag. */
const service = /^[a-z][\w]*(\.\w+)+$/;

export function queryRoutes(doc: OpenApi): Route[] {
  return Object.entries(doc.paths).flatMap(([path, item]) => {
    const tag = item.get?.tags?.find((t) => service.test(t));
    if (!item.get || !tag) return [];
    return [
      {
        path,
        title: item.get.summary ?? path,
        service: tag.replace(/\.(Query|Service|Msg)$/, ""),
        about: item.get.description ?? "",
        fields: item.get.parameters ?? [],
      },
    ];
  });
}

/** Routes with every word of the search in their path, title or service. */
export function findRoutes(routes: Route[], search: string): Route[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return routes.filter((r) => {
    const text = `${r.path} ${r.title} ${r.service}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

/** The route that a link leads to, by the end of its path, and what it fills in. */
export function linked(
  routes: Route[],
  search: string,
): { path: string; values: Record<string, string> } | undefined {
  const given = new URLSearchParams(search);
  const end = given.get("route");
  const route = end ? routes.find((r) => r.path.endsWith(end)) : undefined;
  if (!route) return undefined;
  const fields = route.fields.filter((f) => f.name !== "route" && given.has(f.name));
  return {
    path: route.path,
    values: Object.fromEntries(fields.map((f) => [f.name, given.get(f.name) ?? ""])),
  };
}

export interface Request {
  address: string;
  headers: Record<string, string>;
  /** Fields in the path that are still empty. */
  missing: string[];
}

export function requestOf(route: Route, values: Record<string, string>): Request {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  const missing: string[] = [];
  let path = route.path;
  for (const field of route.fields) {
    const value = values[field.name] ?? "";
    if (field.in === "path") {
      if (value === "") missing.push(field.name);
      // A field whose name ends in "=**" takes a path with its slashes.
      else
        path = path.replace(
          new RegExp(`\\{${field.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}[^}]*\\}`),
          encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%3A", ":"),
        );
    } else if (value !== "" && field.in === "query") query.set(field.name, value);
    else if (value !== "" && field.in === "header") headers[field.name] = value;
  }
  return { address: path + (query.size > 0 ? `?${query}` : ""), headers, missing };
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same request for a shell; nothing in it is more than text there. */
export function curlOf(origin: string, request: Request): string {
  const headers = Object.entries(request.headers).map(([k, v]) => ` -H ${quote(`${k}: ${v}`)}`);
  return `curl -s${headers.join("")} ${quote(origin + request.address)}`;
}
