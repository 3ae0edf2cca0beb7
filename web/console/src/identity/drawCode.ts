import encodeQR from "qr";

/** The QR code of a text as rows of modules, with the light margin that readers look for. */
export function drawCode(text: string): boolean[][] {
  return encodeQR(text, "raw", { ecc: "medium", border: 4 });
}
