-- Resumable uploads: any node can go on with one.
CREATE TABLE filestore_uploads (
  id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  hidden {{int}} NOT NULL,
  mime {{text}} NOT NULL,
  mode {{int}} NOT NULL,
  length {{int}} NOT NULL,
  offset_bytes {{int}} NOT NULL,
  blob_id {{text}} NOT NULL,
  state {{blob}} NOT NULL,
  extents {{int}} NOT NULL,
  holder {{text}} NOT NULL,
  held_until_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX filestore_uploads_expiry ON filestore_uploads (expires_ms);
