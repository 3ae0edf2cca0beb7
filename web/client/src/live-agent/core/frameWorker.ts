/** What a transform in the worker is told. */
export interface FrameTask {
  /** Whether frames are sealed (sent) or opened (received). */
  seal: boolean;
  kind: string;
  key: CryptoKey;
}

interface EncodedFrame {
  data: ArrayBuffer;
}

/** The parts of the worker's scope that are used. */
export interface FrameScope {
  onrtctransform?:
    | ((event: {
        transformer: {
          readable: ReadableStream<EncodedFrame>;
          writable: WritableStream<EncodedFrame>;
          options: FrameTask;
        };
      }) => void)
    | null;
}

/**
 * The whole worker: seals each encoded frame before it is sent and opens each
 * that arrives. A frame is header || AES-GCM(rest) || iv || version; the header
 * stays clear, because browsers and packetisers read it, and is authenticated.
 * A frame that does not open is dropped.
 *
 * The function is also turned into text and run as a worker, so it may use
 * nothing from outside itself.
 */
export function frameWorker(scope: FrameScope): void {
  scope.onrtctransform = ({ transformer: { readable, writable, options } }) => {
    const { seal, kind, key } = options;
    // Four random bytes and a counter, under a key of this sender alone: never
    // the same twice.
    const iv = new Uint8Array(12);
    crypto.getRandomValues(iv.subarray(0, 4));
    let sent = 0n;
    const cipher = (iv: Uint8Array<ArrayBuffer>, additionalData: Uint8Array<ArrayBuffer>) => ({
      name: "AES-GCM",
      iv,
      additionalData,
    });
    // Of Opus (sent) one byte, of PCMU (received) none; of VP8 ten bytes of a key
    // frame and three of another.
    const headerOf = (bytes: Uint8Array) =>
      kind === "audio" ? (seal ? 1 : 0) : ((bytes[0] ?? 0) & 1) === 0 ? 10 : 3;
    const version = Uint8Array.of(1);
    const join = (...parts: Uint8Array[]): ArrayBuffer => {
      const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
      let at = 0;
      for (const part of parts) {
        whole.set(part, at);
        at += part.length;
      }
      return whole.buffer;
    };
    const work = new TransformStream<EncodedFrame, EncodedFrame>({
      async transform(frame, controller) {
        const bytes = new Uint8Array(frame.data);
        const head = bytes.slice(0, headerOf(bytes));
        try {
          if (seal) {
            new DataView(iv.buffer).setBigUint64(4, sent++);
            const body = await crypto.subtle.encrypt(
              cipher(iv, head),
              key,
              bytes.slice(head.length),
            );
            frame.data = join(head, new Uint8Array(body), iv, version);
          } else {
            const end = bytes.length - 13;
            if (end < head.length || bytes[end + 12] !== 1) return;
            const body = await crypto.subtle.decrypt(
              cipher(bytes.slice(end, end + 12), head),
              key,
              bytes.slice(head.length, end),
            );
            frame.data = join(head, new Uint8Array(body));
          }
          controller.enqueue(frame);
        } catch {
          // Not made by the other end: nobody is to hear or see it.
        }
      },
    });
    readable
      .pipeThrough(work)
      .pipeTo(writable)
      .catch(() => undefined); // over with the call
  };
}
