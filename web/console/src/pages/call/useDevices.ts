import { useEffect, useState } from "react";

/**
 * The microphones and cameras whose names the browser tells: once it has opened some, such as those
 * of the stream.
 */
export function useDevices(stream?: MediaStream): {
  microphones: MediaDeviceInfo[];
  cameras: MediaDeviceInfo[];
} {
  const [devices, setDevices] = useState<MediaDeviceInfo[]>([]);
  useEffect(() => {
    const media: MediaDevices | undefined = navigator.mediaDevices;
    if (!media) return;
    const read = () => void media.enumerateDevices().then(setDevices, () => undefined);
    read();
    media.addEventListener("devicechange", read);
    return () => media.removeEventListener("devicechange", read);
  }, [stream]);
  const named = (kind: MediaDeviceKind) => devices.filter((d) => d.kind === kind && d.label);
  return { microphones: named("audioinput"), cameras: named("videoinput") };
}
