/**
 * Encrypted voice and video calls with an oracle, apart from the main entry.
 *
 * @packageDocumentation
 */
export type { AgentState, CallOptions, CallPhase, Caption, LiveState } from "./core/agent";
export { CallError, CallIdentityError } from "./core/errors";
export type { CallType, DeviceChoice } from "./core/media";
export type { CallRecording, OpenCall } from "./core/signals";
export {
  useLiveAgent,
  type ToastAlert,
  type UseLiveAgentOptions,
  type UseLiveAgentResult,
} from "./react/useLiveAgent";
