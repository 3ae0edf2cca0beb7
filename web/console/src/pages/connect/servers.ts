import type { Session } from "../../identity/session";
import { signed } from "./signed";

export interface Tool {
  name: string;
  description?: string;
  readOnly: boolean;
  /** Whether every call waits for its user's approval. */
  asks: boolean;
}

/** A link by which somebody authorizes the oracle at a server. */
export interface Authorization {
  server: string;
  url: string;
  issuer: string;
}

/** An MCP server that the oracle uses for somebody. */
export interface Server {
  name: string;
  url: string;
  summary?: string;
  hasToken: boolean;
  state: "ready" | "authorization" | "failing";
  error?: string;
  tools: Tool[];
  issuer?: string;
  authorizedAt?: string;
  authorization?: Authorization;
}

export interface Servers {
  /** Your own. */
  servers: Server[];
  /** The operator's, which everybody has. */
  shared: Server[];
}

const path = "/mcp-servers";
const at = (name: string) => `${path}/${encodeURIComponent(name)}`;

export const listServers = (session: Session) => signed<Servers>(session, "GET", path);

export const addServer = (
  session: Session,
  server: { name: string; url: string; token?: string; summary?: string },
) => signed<Server>(session, "POST", path, server);

export const removeServer = (session: Session, name: string) => signed(session, "DELETE", at(name));

export const authorizeAt = (session: Session, name: string) =>
  signed<Authorization>(session, "POST", `${at(name)}/authorize`);

export const confirmAt = (session: Session, name: string, code: string) =>
  signed<Server>(session, "POST", `${at(name)}/confirm`, { code });

export const forgetAt = (session: Session, name: string) =>
  signed(session, "DELETE", `${at(name)}/authorization`);
