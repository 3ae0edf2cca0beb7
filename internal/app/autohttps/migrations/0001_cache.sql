-- What the certificates of a deployment are made of: the account, keys and
-- certificates, and answers to challenges. Bodies are sealed.
CREATE TABLE https_cache (
  name {{text}} NOT NULL PRIMARY KEY,
  body {{blob}} NOT NULL,
  written_ms {{int}} NOT NULL
) {{table}};
