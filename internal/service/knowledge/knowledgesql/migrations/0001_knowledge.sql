-- Collections of documents, who may read them, and how far each document is.
-- Passages and words are not here: they are in sealed segments of the object store.
CREATE TABLE knowledge_collections (
  id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  name {{text}} NOT NULL,
  folder {{text}} NOT NULL,
  readers {{text}} NOT NULL,
  wrapped_key {{blob}} NOT NULL,
  master_id {{text}} NOT NULL,
  revision {{int}} NOT NULL,
  scan_after {{text}} NOT NULL,
  scanned {{int}} NOT NULL,
  dirty_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX knowledge_collections_name ON knowledge_collections (ns, name);
CREATE UNIQUE INDEX knowledge_collections_folder ON knowledge_collections (ns, folder);
CREATE INDEX knowledge_collections_readers ON knowledge_collections (readers);
CREATE INDEX knowledge_collections_unscanned ON knowledge_collections (id) WHERE scanned = 0;
CREATE INDEX knowledge_collections_dirty ON knowledge_collections (dirty_ms) WHERE dirty_ms > 0;

CREATE TABLE knowledge_readers (
  did {{text}} NOT NULL,
  collection {{text}} NOT NULL,
  PRIMARY KEY (did, collection)
) {{clustered}};
CREATE INDEX knowledge_readers_collection ON knowledge_readers (collection);

-- One row for each namespace that has a collection: how far its feed was followed,
-- and when it last had its turn in the queue.
CREATE TABLE knowledge_owners (
  ns {{text}} NOT NULL PRIMARY KEY,
  seq {{int}} NOT NULL,
  served {{int}} NOT NULL
) {{table}};

-- The queue is the documents with a state below 2; due_ms is when one that waits
-- is due, and when one that is being read counts as abandoned.
CREATE TABLE knowledge_documents (
  collection {{text}} NOT NULL,
  file_id {{text}} NOT NULL,
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  mime {{text}} NOT NULL,
  size {{int}} NOT NULL,
  version {{int}} NOT NULL,
  changed_ms {{int}} NOT NULL,
  state {{int}} NOT NULL,
  why {{text}} NOT NULL,
  due_ms {{int}} NOT NULL,
  holder {{text}} NOT NULL,
  attempts {{int}} NOT NULL,
  generation {{text}} NOT NULL,
  read_version {{int}} NOT NULL,
  read_ms {{int}} NOT NULL,
  pages {{int}} NOT NULL,
  language {{text}} NOT NULL,
  passages {{int}} NOT NULL,
  PRIMARY KEY (collection, file_id)
) {{table}};
CREATE INDEX knowledge_documents_file ON knowledge_documents (ns, file_id);
CREATE INDEX knowledge_documents_queue ON knowledge_documents (ns, due_ms) WHERE state < 2;
CREATE INDEX knowledge_documents_path ON knowledge_documents (collection, path);

CREATE TABLE knowledge_segments (
  id {{text}} NOT NULL PRIMARY KEY,
  collection {{text}} NOT NULL,
  wrapped_key {{blob}} NOT NULL,
  header {{blob}} NOT NULL,
  size {{int}} NOT NULL,
  sealed {{int}} NOT NULL,
  passages {{int}} NOT NULL,
  dead_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX knowledge_segments_collection ON knowledge_segments (collection);
CREATE INDEX knowledge_segments_dead ON knowledge_segments (dead_ms) WHERE dead_ms > 0;
