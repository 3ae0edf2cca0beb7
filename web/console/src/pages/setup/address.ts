import type { Setting } from "../operator/settings";

/** How people reach the deployment, as its settings and this page know it. */
export interface Address {
  /** Where links lead that the server makes; empty: to wherever somebody asked. */
  told: string;
  /** The setting that says so. */
  by: "" | "PUBLIC_URL" | "HTTPS_DOMAINS";
  isSame: boolean;
  isHttps: boolean;
  /** Without HTTPS a browser calls and keeps keys on its own machine alone. */
  isHere: boolean;
  /** What to write, each a way of its own; nothing where nothing is missing. */
  ways: { settings: string[]; isOwn: boolean }[];
}

/** Where this page came from, as location says it. */
interface Here {
  origin: string;
  protocol: string;
  hostname: string;
}

const example = "oracle.example.org";

export function addressOf(settings: readonly Setting[], here: Here): Address {
  const valueOf = (name: string) => settings.find((one) => one.name === name)?.value.trim() ?? "";
  const given = valueOf("PUBLIC_URL").replace(/\/+$/, "");
  const domain = valueOf("HTTPS_DOMAINS").split(",")[0]?.trim() ?? "";
  const told = given || (domain && `https://${domain}`);
  const isHttps = here.protocol === "https:";
  const isHere = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(here.hostname);
  // An address of numbers has no certificate, and a machine's own name is nobody else's.
  const isName = /[a-z]/i.test(here.hostname) && here.hostname.includes(".") && !isHere;
  const name = isName && !here.hostname.startsWith("[") ? here.hostname : example;
  const ways: Address["ways"] = [];
  if (isHttps && !told) ways.push({ settings: [`PUBLIC_URL=${here.origin}`], isOwn: false });
  if (!isHttps && !told.startsWith("https:")) {
    ways.push(
      { settings: [`HTTPS_DOMAINS=${name}`], isOwn: true },
      { settings: [`PUBLIC_URL=https://${name}`, "TRUST_PROXY_ENABLED=true"], isOwn: false },
    );
  }
  const by = given ? "PUBLIC_URL" : domain ? "HTTPS_DOMAINS" : "";
  return { told, by, isSame: told === here.origin, isHttps, isHere, ways };
}
