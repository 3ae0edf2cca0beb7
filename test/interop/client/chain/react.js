// What the oracles' client asks of the chain. Its indexer is stood in for by the
// program's own query gateway; payments and rooms are not part of these tests.
const gateway = () => globalThis.CHAIN_URL;

export const gqlClient = {
  async GetEntityById({ id }) {
    const response = await fetch(`${gateway()}/ixo/entity/${encodeURIComponent(id)}`);
    if (!response.ok) throw new Error(`entity ${id}: ${response.status}`);
    const { entity, iidDocument } = await response.json();
    return { entity: { ...entity, service: iidDocument.service, linkedResource: iidDocument.linkedResource } };
  },
};

export const Authz = {
  getOracleAuthZConfig: async () => ({ oracleName: "Castalia", granteeAddress: "", requiredPermissions: [] }),
};

export class Payments {
  getOraclePricingList = async () => [];
}

export const getOracleAgentCard = async () => null;
export const getMatrixUrlsForDid = async () => ({ homeServer: gateway(), homeServerCropped: "localhost", roomsBot: gateway() });
export const normalizeMatrixHomeServerUrl = (url) => url;
export const CryptoUtils = {};
