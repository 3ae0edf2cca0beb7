-- What upload links may take and have taken; each is a row of filestore_shares too,
-- where its uses are the files that came.
CREATE TABLE filestore_drops (
  share_id {{text}} NOT NULL PRIMARY KEY,
  max_bytes {{int}} NOT NULL,
  bytes {{int}} NOT NULL
) {{table}};
