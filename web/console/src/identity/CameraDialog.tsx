import { useEffect, useRef, useState } from "react";
import { Dialog } from "../shell/Dialog";
import { say } from "../words";
import { codeIn, pixelsOf } from "./readCode";

/** How often a picture is looked at. */
const every = 150;

/** Shows what the camera sees until it sees a QR code whose text is taken, or is told to stop. */
export default function CameraDialog(props: {
  /** Whether the text is what was looked for; the camera goes on when it is not. */
  onText: (text: string) => Promise<boolean>;
  onClose: () => void;
}) {
  const video = useRef<HTMLVideoElement>(null);
  const take = useRef(props.onText);
  useEffect(() => {
    take.current = props.onText;
  });
  const [trouble, setTrouble] = useState<"" | "bring.noCamera" | "bring.otherCode">("");
  useEffect(() => {
    let isGone = false;
    let timer = 0;
    let stream: MediaStream | undefined;
    const look = async () => {
      const shown = video.current;
      if (isGone || !shown) return;
      const { videoWidth: width, videoHeight: height } = shown;
      const pixels = width > 0 ? pixelsOf(shown, width, height) : undefined;
      const text = pixels && codeIn(pixels, false);
      if (text !== undefined) {
        if (await take.current(text)) return;
        if (!isGone) setTrouble("bring.otherCode");
      }
      if (!isGone) timer = window.setTimeout(() => void look(), every);
    };
    navigator.mediaDevices
      .getUserMedia({ video: { facingMode: "environment" }, audio: false })
      .then(async (opened) => {
        stream = opened;
        if (isGone || !video.current) return opened.getTracks().forEach((track) => track.stop());
        video.current.srcObject = opened;
        await video.current.play();
        return look();
      })
      .catch(() => isGone || setTrouble("bring.noCamera"));
    return () => {
      isGone = true;
      window.clearTimeout(timer);
      stream?.getTracks().forEach((track) => track.stop());
    };
  }, []);
  return (
    <Dialog title={say("bring.camera")} onClose={props.onClose}>
      {trouble !== "bring.noCamera" && (
        <>
          <p>{say("bring.hold")}</p>
          <video ref={video} className="code-camera" muted playsInline aria-hidden="true" />
        </>
      )}
      <p role="alert" className={trouble && "notice bad"}>
        {trouble && say(trouble)}
      </p>
    </Dialog>
  );
}
