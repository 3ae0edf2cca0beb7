/**
 * A fake oracle for tests of pages that use `@castalia/oracles-client`: no
 * server, no network, no wallet.
 *
 * @packageDocumentation
 */
export { FakeOracle, type FakeCallResult, type FakeReply, type Respond } from "./oracle";
export { FakeOraclesProvider, type FakeOraclesProviderProps } from "./provider";
export { FakeSocket, type Listener } from "./socket";
export type { StoredMessage } from "../core/types";
export { FakeNetwork, FakeStream, json, type Answer, type SeenRequest } from "./wire";
