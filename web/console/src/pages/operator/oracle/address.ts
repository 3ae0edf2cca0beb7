import { say, type Key } from "../../../words";

/** Where the deployment is reached, as GET /operator/address says. */
export interface Address {
  /** What links begin with; without one they are relative, or as a proxy says. */
  url?: string;
  /** What was chosen for it; else it follows from the names. */
  givenUrl?: string;
  /** The names that certificates are got for. */
  names: Name[];
  /** Why this node does not serve HTTPS, though it should. */
  problem?: string;
  /** What counts after a restart of the node alone. */
  waits: string[];
}

export interface Name {
  name: string;
  /** There is a certificate for it. */
  ready: boolean;
  problem?: string;
}

export const addressPath = "/operator/address";

/** What an operator typed. */
export interface Typed {
  url: string;
  names: string;
}

/** What is in force, to be changed. */
export function typedOf({ givenUrl = "", names }: Address): Typed {
  return { url: givenUrl, names: names.map(({ name }) => name).join(", ") };
}

/** The document that says it. YAML reads a text in JSON as it is meant. */
export function addressText({ url, names }: Typed): string {
  const some = names.split(/[\s,]+/).filter(Boolean);
  return `url: ${JSON.stringify(url.trim())}\nhttps: ${JSON.stringify(some)}\n`;
}

/** Where this page came from, as location says it. */
interface Here {
  protocol: string;
  hostname: string;
}

/** What that means for who comes the same way: without HTTPS a browser calls on its own machine alone. */
export function comingOf({ protocol, hostname }: Here): { words: Key; isWell: boolean } {
  if (protocol === "https:") return { words: "choices.httpsCame", isWell: true };
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
    ? { words: "choices.httpsLocal", isWell: true }
    : { words: "choices.httpsMissing", isWell: false };
}

/** How far the certificate of a name is. */
export function certificateOf({ name, ready, problem }: Name): string {
  if (problem) return say("choices.certificateProblem", { name, problem });
  return say(ready ? "choices.certificateReady" : "choices.certificateComes", { name });
}

const restarts: Partial<Record<string, Key>> = {
  open_https: "choices.waitsOpen",
  close_https: "choices.waitsClose",
  links: "choices.waitsLinks",
};

/** What waits for a restart, a sentence for each. */
export function waitsOf({ waits }: Address): string[] {
  return waits.flatMap((what) => {
    const words = restarts[what];
    return words ? [say(words)] : [];
  });
}
