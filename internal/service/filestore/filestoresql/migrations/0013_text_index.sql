-- The search index: sealed segments, in the object store or here where they are small,
-- and which document in them is what file says now. The tables of the blind index
-- before it stay for the release before.
CREATE TABLE filestore_text_indexes (
  id {{text}} NOT NULL PRIMARY KEY,
  seq {{int}} NOT NULL,
  revision {{int}} NOT NULL,
  dirty_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX filestore_text_indexes_dirty ON filestore_text_indexes (dirty_ms) WHERE dirty_ms > 0;

CREATE TABLE filestore_text_segments (
  id {{text}} NOT NULL PRIMARY KEY,
  collection {{text}} NOT NULL,
  wrapped_key {{blob}} NOT NULL,
  header {{blob}} NOT NULL,
  size {{int}} NOT NULL,
  sealed {{int}} NOT NULL,
  passages {{int}} NOT NULL,
  inline {{blob}},
  dead_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX filestore_text_segments_collection ON filestore_text_segments (collection);
CREATE INDEX filestore_text_segments_dead ON filestore_text_segments (dead_ms) WHERE dead_ms > 0;

-- A file is found as it was when change seq was read, as long as path and version are
-- still those.
CREATE TABLE filestore_text_live (
  file_id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  seq {{int}} NOT NULL,
  path {{text}} NOT NULL,
  version {{int}} NOT NULL
) {{table}};
CREATE INDEX filestore_text_live_ns ON filestore_text_live (ns);
