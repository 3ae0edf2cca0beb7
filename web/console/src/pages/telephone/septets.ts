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

/** How much of a screen the network shows. */
export interface ScreenSize {
  septets: number;
  characters: number;
}

const usual: ScreenSize = { septets: 160, characters: 70 };

/**
 * Characters of the extension table take two septets; one character outside the
 * alphabet makes the network use two bytes for each.
 */
export function airTime(text: string, screen = usual): AirTime {
  let used = 0;
  for (const c of text) {
    if (extension.has(c)) used += 2;
    else if (plain.has(c)) used += 1;
    else return { used: text.length, limit: screen.characters, unit: "characters" };
  }
  return { used, limit: screen.septets, unit: "septets" };
}
