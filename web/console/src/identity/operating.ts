import type { Capability } from "@castalia/oracles-client/wallet";

/** What says that its holder runs the deployment, as far as they have a role there. */
export const operating: Capability = { can: "operator/*", with: "ixo:operator" };
