import { useCallback } from "react";
import { mintOpenIdToken, type OpenIdToken } from "../core/openid";
import { useOraclesContext } from "./context";
import { useResource } from "./useResource";

/** A Matrix OpenID token of the provider's user. */
export function useGetOpenIdToken() {
  const { wallet, client } = useOraclesContext();
  const { accessToken, homeServer } = wallet.matrix;
  const mint = useCallback((): Promise<OpenIdToken> => {
    const server = homeServer.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
    const userId = `@did-ixo-${wallet.address}:${server}`;
    return mintOpenIdToken({ userId, matrixAccessToken: accessToken, homeServer }, client.fetch);
  }, [wallet, client, accessToken, homeServer]);
  const { data, error, isLoading, refetch } = useResource(
    accessToken && homeServer ? "openid" : null,
    mint,
  );
  return { openIdToken: data, error, isLoading, refetch };
}
