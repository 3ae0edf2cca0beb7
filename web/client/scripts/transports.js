// Stands in for the socket client's list of transports in the bundle.
import { WebSocket } from "engine.io-client";

export const transports = { websocket: WebSocket };
