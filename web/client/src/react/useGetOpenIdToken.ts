import { useCallback } from "react";
import { getOpenIdToken, type OpenIdToken } from "../core/openid";
import { useOraclesContext } from "./context";
import { useResource } from "./useResource";

/** A Matrix OpenID token of the provider's user. */
export function useGetOpenIdToken() {
  const { wallet } = useOraclesContext();
  const { accessToken, homeServer } = wallet.matrix;
  const mint = useCallback((): Promise<OpenIdToken> => {
    const server = homeServer.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
    return getOpenIdToken({
      userId: `@did-ixo-${wallet.address}:${server}`,
      matrixAccessToken: accessToken,
      homeServer,
      did: wallet.did,
    });
  }, [wallet, accessToken, homeServer]);
  const { data, error, isLoading, reload } = useResource(
    accessToken && homeServer ? `${wallet.did} ${homeServer}` : null,
    mint,
  );
  return { openIdToken: data, error, isLoading, refetch: reload };
}
