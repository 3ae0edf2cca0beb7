import { CallError } from "./errors";

export type CallType = "audio" | "video";

/** Which devices to use; the system's own choice where nothing is said. */
export interface DeviceChoice {
  microphoneId?: string;
  cameraId?: string;
}

const refusals: Record<string, [string, string]> = {
  NotAllowedError: [
    "refused",
    "may not be used. Allow it for this page in the browser's settings and call again.",
  ],
  NotFoundError: ["missing", "was not found. Connect one and call again."],
  OverconstrainedError: ["missing", "was not found. Choose another one and call again."],
  NotReadableError: ["busy", "is in use by another program."],
};

/** Whether this browser can make calls at all; what to do is said by openMedia. */
export function canCall(): boolean {
  return trouble() === undefined;
}

function trouble(): CallError | undefined {
  if (typeof RTCPeerConnection === "undefined") {
    return new CallError(
      "unsupported",
      "This browser cannot make calls (it has no WebRTC). Use a current Firefox, Chrome, Edge or Safari, or type instead.",
    );
  }
  if (typeof navigator === "undefined" || !(navigator.mediaDevices as MediaDevices | undefined)) {
    return new CallError("insecure", "Calls need a secure page (https or localhost).");
  }
  return undefined;
}

/** Opens the microphone, and the camera for a video call. */
export async function openMedia(type: CallType, choice: DeviceChoice): Promise<MediaStream> {
  const cannot = trouble();
  if (cannot) throw cannot;
  const audio = pick(choice.microphoneId);
  try {
    const video = type === "video" && pick(choice.cameraId);
    return await navigator.mediaDevices.getUserMedia({ audio, video });
  } catch (cause) {
    const name = (cause as DOMException | undefined)?.name ?? "";
    // Who has no camera can still be heard, and see.
    if (type === "video" && name === "NotFoundError") return openMedia("audio", choice);
    throw refusal(type === "video" ? "microphone or the camera" : "microphone", cause);
  }
}

/** Opens one other device for a call that goes on. */
export async function openDevice(kind: "audio" | "video", id: string): Promise<MediaStreamTrack> {
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ [kind]: pick(id) });
    const [track] = stream.getTracks();
    if (track) return track;
    throw new DOMException("no track", "NotFoundError");
  } catch (cause) {
    throw refusal(kind === "video" ? "camera" : "microphone", cause);
  }
}

function pick(id: string | undefined): MediaTrackConstraints | true {
  return id ? { deviceId: { exact: id } } : true;
}

function refusal(thing: string, cause: unknown): CallError {
  const name = (cause as DOMException | undefined)?.name ?? "";
  const [what, why] = refusals[name] ?? ["failed", `could not be opened (${name}).`];
  const code = thing === "camera" ? "camera" : "microphone";
  return new CallError(`${code}_${what}`, `The ${thing} ${why}`, { cause });
}

/** Lets go of every device: its light goes out. */
export function stopMedia(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
