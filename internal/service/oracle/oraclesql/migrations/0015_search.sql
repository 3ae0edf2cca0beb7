-- How far the search index has read a session: messages before indexed_seq, and whether
-- its title. Sessions in which something is to be read are unread; the numbers decide.
ALTER TABLE oracle_sessions ADD COLUMN indexed_seq {{int}} NOT NULL DEFAULT 1;
ALTER TABLE oracle_sessions ADD COLUMN indexed_title {{int}} NOT NULL DEFAULT 0;
ALTER TABLE oracle_sessions ADD COLUMN unread {{int}} NOT NULL DEFAULT 1;
CREATE INDEX oracle_sessions_unread ON oracle_sessions (owner, id) WHERE unread = 1 AND expires_ms = 0;

-- The index: sealed segments of each owner, in the object store or here where they are
-- small. Without its key an index is nothing.
CREATE TABLE oracle_text_indexes (
  id          {{text}} NOT NULL PRIMARY KEY,
  wrapped_key {{blob}} NOT NULL,
  revision    {{int}} NOT NULL,
  dirty_ms    {{int}} NOT NULL DEFAULT 0
) {{table}};
CREATE INDEX oracle_text_indexes_dirty ON oracle_text_indexes (dirty_ms) WHERE dirty_ms > 0;

CREATE TABLE oracle_text_segments (
  id          {{text}} NOT NULL PRIMARY KEY,
  collection  {{text}} NOT NULL,
  wrapped_key {{blob}} NOT NULL,
  header      {{blob}} NOT NULL,
  size        {{int}} NOT NULL,
  sealed      {{int}} NOT NULL,
  passages    {{int}} NOT NULL,
  inline      {{blob}},
  dead_ms     {{int}} NOT NULL,
  created_ms  {{int}} NOT NULL
) {{table}};
CREATE INDEX oracle_text_segments_collection ON oracle_text_segments (collection);
CREATE INDEX oracle_text_segments_dead ON oracle_text_segments (dead_ms) WHERE dead_ms > 0;
