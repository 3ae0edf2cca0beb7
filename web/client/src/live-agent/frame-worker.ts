/**
 * The worker of the frame layer as a file, for pages whose policy forbids
 * workers made of text. Give its address to useLiveAgent as frameWorkerUrl.
 *
 * @packageDocumentation
 */
import { frameWorker, type FrameScope } from "./core/frameWorker";

frameWorker(globalThis as unknown as FrameScope);
