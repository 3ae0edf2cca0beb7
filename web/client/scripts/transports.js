// Stands in for the socket client's list of transports in the bundle.
import { WebSocket } from "engine.io-client";

export const transports = {
  // Read when a line is opened: the class stands further down in the bundle.
  get websocket() {
    return WebSocket;
  },
};
