import type { OracleApi } from "./api";
import { OraclesClient, type Network } from "./client";
import {
  addressOf,
  configKey,
  resolveOracle,
  type OracleConfig,
  type OracleOverrides,
} from "./config";
import { openChat, type OpenedChat } from "./opened";
import type { OraclesOptions } from "./options";
import type { ChatOptions } from "./page";
import { requestsOf, type Requests } from "./requests";
import {
  createSession,
  deleteSession,
  readSessions,
  type IChatSession,
  type SessionPage,
} from "./sessions";

/** Which oracle is meant, and where it is, unless the query gateway tells. */
export interface OracleAt {
  oracleDid: string;
  overrides?: OracleOverrides;
}

/** Oracles as one user reaches them, without any framework. */
export interface Oracles extends Requests {
  /** Opens a conversation. Those of one session share its line and its history; close each. */
  openChat: (options: ChatOptions) => OpenedChat;
  createSession: (at: OracleAt) => Promise<IChatSession>;
  /** The user's sessions with an oracle, the newest first: twenty unless told. */
  listSessions: (at: OracleAt, page?: { limit?: number; offset?: number }) => Promise<SessionPage>;
  deleteSession: (at: OracleAt, sessionId: string) => Promise<void>;
}

/** What `OraclesProvider` is to React: who the user is, and all that is shared between conversations. */
export function createOracles(options: OraclesOptions): Oracles {
  return oraclesOn(options);
}

/** The same; tests bring a network of their own. */
export function oraclesOn(options: OraclesOptions, network?: Network): Oracles {
  const { initialWallet, createDelegation, createInvocation, queryGateway } = options;
  if (!initialWallet || !createDelegation) {
    throw new Error("initialWallet and createDelegation are required");
  }
  const client = new OraclesClient({
    wallet: initialWallet,
    createDelegation,
    ...(createInvocation ? { createInvocation } : {}),
    ...(queryGateway ? { queryGateway } : {}),
    ...(network ? { network } : {}),
  });
  return {
    ...requestsOf(client),
    openChat: (options) => openChat(client, options),
    createSession: async (at) => createSession(await apiOf(client, at)),
    listSessions: async (at, { limit = 20, offset = 0 } = {}) =>
      readSessions(await apiOf(client, at), limit, offset),
    deleteSession: async (at, sessionId) => deleteSession(await apiOf(client, at), sessionId),
  };
}

/** The way to an oracle; what a conversation has found out already is not asked again. */
async function apiOf(
  client: OraclesClient,
  { oracleDid, overrides }: OracleAt,
): Promise<OracleApi> {
  const { gateway } = client;
  let found = client.resource<OracleConfig>(configKey(oracleDid)).state.get();
  if (gateway && !overrides?.baseUrl && !found.data) {
    const data = await resolveOracle(gateway, oracleDid, client.fetch);
    found = { data, error: undefined, isLoading: false };
  }
  const { apiUrl, error } = addressOf(gateway, found, overrides);
  if (apiUrl === null) throw error ?? new Error("The oracle's entity does not say where it is");
  return client.api(apiUrl, oracleDid);
}
