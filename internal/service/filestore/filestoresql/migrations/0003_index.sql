-- The blind search index: words are keyed hashes, positions are line numbers.
CREATE TABLE filestore_index (
  ns {{text}} NOT NULL PRIMARY KEY,
  seq {{int}} NOT NULL
) {{clustered}};

CREATE TABLE filestore_indexed (
  file_id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  version {{int}} NOT NULL,
  words {{int}} NOT NULL
) {{table}};

CREATE TABLE filestore_postings (
  ns {{text}} NOT NULL,
  term {{blob}} NOT NULL,
  file_id {{text}} NOT NULL,
  count {{int}} NOT NULL,
  lines {{blob}} NOT NULL,
  PRIMARY KEY (ns, term, file_id)
) {{clustered}};
CREATE INDEX filestore_postings_file ON filestore_postings (file_id);
