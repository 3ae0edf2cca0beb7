import decodeQR from "qr/decode.js";

/** Pixels of red, green, blue and opacity. */
export interface Pixels {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** The longer side that a picture is looked at with: what a telephone takes has more than is needed. */
const longest = 1600;

/** What the QR code in a picture says; undefined where none can be read. */
export function codeIn(pixels: Pixels, isPatient: boolean): string | undefined {
  // A picture is worth a second, a camera shows another one soon.
  const limits = isPatient ? { effort: 4, timeLimit: 1500 } : {};
  try {
    return decodeQR(pixels, limits);
  } catch {
    return undefined;
  }
}

/** The pixels of what the browser can draw. */
export function pixelsOf(
  drawn: CanvasImageSource,
  width: number,
  height: number,
): Pixels | undefined {
  const scale = Math.min(1, longest / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  if (!brush) return undefined;
  // A code without a ground is dark on nothing.
  brush.fillStyle = "#fff";
  brush.fillRect(0, 0, canvas.width, canvas.height);
  brush.drawImage(drawn, 0, 0, canvas.width, canvas.height);
  return brush.getImageData(0, 0, canvas.width, canvas.height);
}
