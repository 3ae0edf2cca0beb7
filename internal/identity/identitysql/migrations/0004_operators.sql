-- Who runs the deployment, beside whoever holds OPERATOR_TOKEN.
CREATE TABLE identity_operators (
  did {{text}} NOT NULL PRIMARY KEY,
  role {{text}} NOT NULL,
  note {{text}} NOT NULL,
  added_by {{text}} NOT NULL,
  added_ms {{int}} NOT NULL
) {{clustered}};

-- Links that make one person an owner, by the hash of their code. opened_by is
-- '' until somebody opened it.
CREATE TABLE identity_setup_links (
  digest {{text}} NOT NULL PRIMARY KEY,
  created_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  opened_by {{text}} NOT NULL
) {{table}};
CREATE INDEX identity_setup_links_expires ON identity_setup_links (expires_ms);
