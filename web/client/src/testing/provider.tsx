import { Context, type OraclesProviderProps } from "../react/context";
import { useProvided } from "../react/provider";
import type { FakeOracle } from "./oracle";

export interface FakeOraclesProviderProps extends Partial<OraclesProviderProps> {
  oracle: FakeOracle;
}

/** An OraclesProvider whose user can sign and whose only oracle is the fake one. */
export function FakeOraclesProvider({ oracle, children, ...props }: FakeOraclesProviderProps) {
  const value = useProvided(
    { ...signedIn, queryGateway: oracle.queryGateway, ...props },
    oracle.network,
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

const signedIn: OraclesProviderProps = {
  initialWallet: {
    address: "ixo1fake",
    did: "did:ixo:ixo1fake",
    matrix: { accessToken: "fake", homeServer: "matrix.test" },
  },
  transactSignX: async () => ({ code: 0, transactionHash: "FAKE" }),
  createDelegation: async () => ({ serialized: "fake", expiresAt: Date.now() + 3_600_000 }),
};
