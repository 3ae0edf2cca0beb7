/** Made by scripts/words.ts from the language files. */
declare module "virtual:words" {
  /** Texts by area and key. */
  export type Catalogue = Record<string, Record<string, string>>;
  /** Every language there is, English first. An empty `reviewed` is a draft. */
  export const languages: {
    code: string;
    name: string;
    direction: "ltr" | "rtl";
    reviewed: string;
  }[];
  /** What every page says, in English; in tests all that is said. */
  export const first: Catalogue;
  /** Where the other words are, and which they are. */
  export const base: string;
  export const version: string;
}
