-- App keys, by the hash of their text. A delegation is of no use without the key
-- that it was made to, which is derived from ORACLE_KEY and kept nowhere. ends_ms is
-- the earlier one of expires_ms and revoked_ms; budgets of 0 are none.
CREATE TABLE identity_app_keys (
  id {{text}} NOT NULL PRIMARY KEY,
  digest {{text}} NOT NULL,
  maker {{text}} NOT NULL,
  name {{text}} NOT NULL,
  holder {{text}} NOT NULL,
  scopes {{text}} NOT NULL,
  delegation {{text}} NOT NULL,
  proof {{text}} NOT NULL,
  budget_tokens {{int}} NOT NULL,
  budget_micros {{int}} NOT NULL,
  spent_tokens {{int}} NOT NULL,
  spent_micros {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  revoked_ms {{int}} NOT NULL,
  used_ms {{int}} NOT NULL,
  ends_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX identity_app_keys_digest ON identity_app_keys (digest);
CREATE UNIQUE INDEX identity_app_keys_name ON identity_app_keys (maker, name) WHERE revoked_ms = 0;
CREATE INDEX identity_app_keys_made ON identity_app_keys (maker, created_ms);
CREATE INDEX identity_app_keys_ends ON identity_app_keys (ends_ms);
