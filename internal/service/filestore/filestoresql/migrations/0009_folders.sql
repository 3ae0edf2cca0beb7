-- Folders that somebody made: they stay when nothing is in them. Other folders are
-- implied by the files below them. The id is what a folder's properties hang on.
CREATE TABLE filestore_folders (
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  hidden {{int}} NOT NULL,
  id {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  PRIMARY KEY (ns, path)
) {{clustered}};
CREATE UNIQUE INDEX filestore_folders_id ON filestore_folders (id);

-- What a client said of the content of a version: when it was last changed where it
-- came from, and digests that it asked to be kept. A row counts for its version only.
CREATE TABLE filestore_marks (
  file_id {{text}} NOT NULL PRIMARY KEY,
  version {{int}} NOT NULL,
  modified_ms {{int}} NOT NULL,
  sha1 {{text}} NOT NULL,
  md5 {{text}} NOT NULL
) {{clustered}};
