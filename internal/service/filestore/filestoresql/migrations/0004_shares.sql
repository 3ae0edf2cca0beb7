-- Links to files: each is a delegation that is counted and can be ended.
-- expires_ms and revoked_ms are 0 for never.
CREATE TABLE filestore_shares (
  id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  hidden {{int}} NOT NULL,
  token_cid {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  max_uses {{int}} NOT NULL,
  uses {{int}} NOT NULL,
  revoked_ms {{int}} NOT NULL,
  invoker {{text}} NOT NULL,
  actor {{text}} NOT NULL,
  proof {{text}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX filestore_shares_token ON filestore_shares (token_cid);
CREATE INDEX filestore_shares_ns ON filestore_shares (ns, created_ms);
