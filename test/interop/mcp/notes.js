// An MCP server of the official SDK whose tool wants a token of an issuer for this very server.
import { once } from "node:events";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const scope = "notes:read";

export class Notes {
  /** Starts one that takes the issuer's tokens. */
  static async start(issuer) {
    const notes = new Notes();
    const app = createMcpExpressApp();
    notes.server = app.listen(0, "127.0.0.1");
    await once(notes.server, "listening");
    const url = new URL(`http://127.0.0.1:${notes.server.address().port}/mcp`);
    notes.url = url.href;
    issuer.resources.set(notes.url, scope);
    const oauthMetadata = await (await fetch(`${issuer.url}/.well-known/openid-configuration`)).json();
    app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: url, scopesSupported: [scope] }));
    const verifyAccessToken = issuer.format === "jwt" ? verifier(oauthMetadata) : introspector(oauthMetadata, issuer.reader);
    const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
    app.use("/mcp", requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: [scope], resourceMetadataUrl, expectedResource: url }));
    app.all("/mcp", async (request, response) => {
      const server = new McpServer({ name: "notes", version: "1.0.0" });
      server.registerTool("read", { description: "Read the note.", annotations: { readOnlyHint: true } }, ({ authInfo }) => ({
        content: [{ type: "text", text: `${authInfo.extra.sub} wrote: flour at seven` }],
      }));
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
      response.on("close", () => server.close());
      await server.connect(transport);
      await transport.handleRequest(request, response, request.body);
    });
    return notes;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const known = (token, { client_id: clientId, scope = "", exp, aud, sub }) => ({
  ...{ token, clientId, scopes: scope.split(" "), expiresAt: exp, resource: aud && new URL(aud), extra: { sub } },
});

/** Asks the issuer what a token is worth (RFC 7662). */
const introspector = (metadata, { client_id, client_secret }) => async (token) => {
  const body = new URLSearchParams({ token, client_id, client_secret });
  const told = await (await fetch(metadata.introspection_endpoint, { method: "POST", body })).json();
  if (!told.active) throw new InvalidTokenError("The token is not active");
  return known(token, told);
};

/** Reads tokens that the issuer has signed (RFC 9068). */
function verifier({ issuer, jwks_uri }) {
  const keys = createRemoteJWKSet(new URL(jwks_uri));
  return async (token) => {
    const { payload } = await jwtVerify(token, keys, { issuer, typ: "at+jwt" }).catch((cause) => {
      throw new InvalidTokenError(cause.message);
    });
    return known(token, payload);
  };
}
