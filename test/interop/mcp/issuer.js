// An authorization server that nobody here wrote, oidc-provider with its own pages, as strict as it comes: codes are
// for who sends PKCE, tokens for the resource that was named, and a refresh token that comes twice costs the grant.
import { once } from "node:events";
import { createServer } from "node:http";
import Provider, { errors } from "oidc-provider";

export class Issuer {
  /** How many seconds access tokens last. */
  lifetime = 3600;
  /** What each resource offers, by its address. */
  resources = new Map();
  /** How often clients registered, and what was asked of the token endpoint: a grant type, or an error. */
  registered = 0;
  asked = [];
  /** Of which grants refresh tokens were used. */
  renewed = [];

  /** Starts one whose issuer has a path, as those of tenants do. change alters its settings; tokens are opaque or jwt. */
  static async start(path = "", change = {}, format = "opaque") {
    const issuer = new Issuer();
    issuer.format = format;
    issuer.server = createServer((request, response) => issuer.handle(request, response)).listen(0, "127.0.0.1");
    await once(issuer.server, "listening");
    issuer.path = path;
    issuer.url = `http://127.0.0.1:${issuer.server.address().port}${path}`;
    const provider = new Provider(issuer.url, {
      clients: [{ ...issuer.reader, redirect_uris: [], response_types: [], grant_types: [] }],
      cookies: { keys: ["of this test"] },
      features: {
        devInteractions: { enabled: true }, // the pages that people see
        registration: { enabled: true },
        introspection: { enabled: true },
        revocation: { enabled: true },
        resourceIndicators: { enabled: true, getResourceServerInfo: (_, resource) => issuer.#offer(resource) },
      },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      pkce: { required: () => true },
      rotateRefreshToken: true,
      ...change,
    });
    provider.on("registration_create.success", () => issuer.registered++);
    provider.on("grant.success", ({ oidc }) => {
      issuer.asked.push(oidc.params.grant_type);
      if (oidc.params.grant_type === "refresh_token") issuer.renewed.push(oidc.entities.RefreshToken.grantId);
    });
    provider.on("grant.error", (_, { error }) => issuer.asked.push(error));
    provider.on("access_token.saved", (token) => (issuer.token = token));
    issuer.provider = provider;
    issuer.answer = provider.callback();
    return issuer;
  }

  /** As whom a resource asks what tokens are worth. */
  reader = { client_id: "a-resource", client_secret: "what only the resource knows", token_endpoint_auth_method: "client_secret_post" };

  #offer(resource) {
    const scope = this.resources.get(resource);
    if (!scope) throw new errors.InvalidTarget();
    return { scope, audience: resource, accessTokenFormat: this.format, accessTokenTTL: this.lifetime };
  }

  handle(request, response) {
    if (!request.url.startsWith(this.path)) return response.writeHead(404).end();
    Object.assign(request, { originalUrl: request.url, baseUrl: this.path, url: request.url.slice(this.path.length) });
    this.answer(request, response);
  }

  /** Ends the newest access token, as if its time were over. */
  expire() {
    return this.token.destroy();
  }

  /** Takes back all that somebody agreed to, as the page of their account does. */
  async revoke() {
    const { AccessToken, RefreshToken, Grant } = this.provider;
    await Promise.all([AccessToken, RefreshToken].map((kind) => kind.revokeByGrantId(this.token.grantId)));
    await (await Grant.find(this.token.grantId)).destroy();
  }

  /** Forgets who the newest token was for, as one whose database was lost. */
  forgetClient() {
    return this.provider.Client.adapter.destroy(this.token.clientId);
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Somebody with a browser: it keeps cookies, follows redirects and sends forms. */
export class Person {
  #cookies = new Map();

  constructor(name) {
    this.name = name;
  }

  /** Opens a link, signs in where that is asked, agrees or not, and returns the page where it ends. */
  async open(link, agrees = true) {
    let at = await this.#get(link);
    for (let pages = 0; pages < 5; pages++) {
      const [, action] = at.page.match(/<form[^>]*action="([^"]+)"/) ?? [];
      if (!action) return at;
      const [, prompt] = at.page.match(/name="prompt" value="([a-z]+)"/);
      if (prompt === "consent" && !agrees) at = await this.#get(at.page.match(/href="([^"]+\/abort)"/)[1]);
      else at = await this.#get(action, new URLSearchParams({ prompt, login: this.name, password: "any" }));
    }
    throw new Error(`no end of pages: ${at.page}`);
  }

  async #get(address, form) {
    for (let hops = 0; hops < 10; hops++) {
      const { origin } = new URL(address);
      const jar = this.#cookies.get(origin) ?? this.#cookies.set(origin, new Map()).get(origin);
      const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
      const response = await fetch(address, { method: form ? "POST" : "GET", body: form, redirect: "manual", headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [, name, value] = set.match(/^([^=]+)=([^;]*)/);
        if (value) jar.set(name, value);
        else jar.delete(name);
      }
      const page = await response.text();
      const location = response.headers.get("location");
      if (!location) return { address, status: response.status, page };
      address = new URL(location, address).href;
      form = undefined;
    }
    throw new Error(`no end of redirects: ${address}`);
  }
}
