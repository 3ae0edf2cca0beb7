import { useEffect, useRef, type RefObject } from "react";

function useStream<T extends HTMLMediaElement>(
  stream: MediaStream | undefined,
): RefObject<T | null> {
  const element = useRef<T>(null);
  useEffect(() => {
    const media = element.current;
    if (!media) return;
    media.srcObject = stream ?? null;
    // A browser that wants a gesture first gets one: the call was begun by a click.
    if (stream) void media.play().catch(() => undefined);
    return () => {
      media.srcObject = null;
    };
  }, [stream]);
  return element;
}

/** Lets a stream be heard. */
export function Sound({ stream }: { stream: MediaStream | undefined }) {
  return <audio ref={useStream<HTMLAudioElement>(stream)} autoPlay />;
}

/** Shows a stream without its sound. */
export function Picture(props: {
  stream: MediaStream | undefined;
  label: string;
  className: string;
}) {
  return (
    <video
      ref={useStream<HTMLVideoElement>(props.stream)}
      className={props.className}
      aria-label={props.label}
      autoPlay
      playsInline
      muted
    />
  );
}

/** Writes how loud a stream is (0 to 1) into --level of an element, as often as it is drawn. */
export function useLevel(stream: MediaStream | undefined): RefObject<HTMLDivElement | null> {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (
      !stream?.getAudioTracks().length ||
      matchMedia("(prefers-reduced-motion: reduce)").matches
    ) {
      return;
    }
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    analyser.fftSize = 256;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Uint8Array(analyser.fftSize);
    let frame = 0;
    let shown = 0;
    const draw = () => {
      analyser.getByteTimeDomainData(samples);
      const peak = samples.reduce((most, one) => Math.max(most, Math.abs(one - 128)), 0) / 128;
      shown = Math.max(peak, shown * 0.9);
      element.current?.style.setProperty("--level", shown.toFixed(3));
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => {
      cancelAnimationFrame(frame);
      void context.close();
    };
  }, [stream]);
  return element;
}
