const basic =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡" +
  "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const plain = new Set(basic);
const extension = new Set("^{}\\[~]|€\f");

/** How much of one USSD message a text takes on the air. */
export interface AirTime {
  used: number;
  limit: number;
  /** Septets of the GSM alphabet, or characters where that does not suffice. */
  unit: "septets" | "characters";
}

/**
 * 182 septets fit, characters of the extension table taking two; one character
 * outside the alphabet makes the network use two bytes for each, and 80 fit.
 */
export function airTime(text: string): AirTime {
  let used = 0;
  for (const c of text) {
    if (extension.has(c)) used += 2;
    else if (plain.has(c)) used += 1;
    else return { used: text.length, limit: 80, unit: "characters" };
  }
  return { used, limit: 182, unit: "septets" };
}
