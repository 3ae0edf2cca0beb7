-- Where the blocks of contents are, by their multihash: places in the content, and
-- below zero the inner nodes that are made from the leaf list. What is noted of a
-- content is complete once its set is there.
CREATE TABLE filestore_blocks (
  blob_id {{text}} NOT NULL,
  hash {{blob}} NOT NULL,
  at {{int}} NOT NULL,
  size {{int}} NOT NULL,
  PRIMARY KEY (blob_id, hash)
) {{clustered}};
CREATE INDEX filestore_blocks_hash ON filestore_blocks (hash);

CREATE TABLE filestore_block_sets (
  blob_id {{text}} NOT NULL,
  kind {{text}} NOT NULL,
  PRIMARY KEY (blob_id, kind)
) {{clustered}};

CREATE INDEX filestore_files_public_cid ON filestore_files (cid) WHERE public_id <> '' AND trashed_ms = 0;
