import type { Capability } from "@castalia/oracles-client/wallet";

/** What says that its holder runs the deployment, as far as they have a role there. */
export const operating: Capability = { can: "operator/*", with: "ixo:operator" };

/** What a role may do there, by the name that a route's description gives the role. */
const abilities = new Map([
  ["operator", "operator/change"],
  ["owner", "operator/own"],
]);

/** What a route needs that wants at least this role: to look, if it names none that is known. */
export function operatingAs(role: string | undefined): Capability {
  return { ...operating, can: abilities.get(role ?? "") ?? "operator/view" };
}
