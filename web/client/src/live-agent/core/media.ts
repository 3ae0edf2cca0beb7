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

/** Opens the microphone, and the camera for a video call. */
export async function openMedia(type: CallType, choice: DeviceChoice): Promise<MediaStream> {
  const devices = typeof navigator === "undefined" ? undefined : navigator.mediaDevices;
  if (!devices || typeof RTCPeerConnection === "undefined") {
    throw new CallError("insecure", "Calls need a secure page (https or localhost) and WebRTC.");
  }
  const pick = (id: string | undefined) => (id ? { deviceId: { exact: id } } : true);
  const audio = pick(choice.microphoneId);
  try {
    const video = type === "video" && pick(choice.cameraId);
    return await devices.getUserMedia({ audio, video });
  } catch (cause) {
    const name = (cause as DOMException | undefined)?.name ?? "";
    // Who has no camera can still be heard, and see.
    if (type === "video" && name === "NotFoundError") return openMedia("audio", choice);
    const [what, why] = refusals[name] ?? ["failed", `could not be opened (${name}).`];
    const thing = type === "video" ? "microphone or the camera" : "microphone";
    throw new CallError(`microphone_${what}`, `The ${thing} ${why}`, { cause });
  }
}

/** Lets go of every device: its light goes out. */
export function stopMedia(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
