-- Files, their versions, and the sealed content behind them.

CREATE TABLE filestore_namespaces (
  ns {{text}} NOT NULL PRIMARY KEY,
  wrapped_key {{blob}} NOT NULL,
  master_id {{text}} NOT NULL,
  index_key {{blob}} NOT NULL,
  keep_versions {{int}} NOT NULL,
  created_ms {{int}} NOT NULL
) {{clustered}};

-- Counters, changed in the transaction of each change.
CREATE TABLE filestore_usage (
  ns {{text}} NOT NULL PRIMARY KEY,
  files {{int}} NOT NULL,
  bytes {{int}} NOT NULL,
  trash_files {{int}} NOT NULL,
  trash_bytes {{int}} NOT NULL,
  versions {{int}} NOT NULL,
  version_bytes {{int}} NOT NULL
) {{clustered}};

-- One row a file. The current version's content is repeated here, so that
-- listings and look-ups touch one table. trashed_ms is 0 outside the trash.
CREATE TABLE filestore_files (
  id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  path {{text}} NOT NULL,
  hidden {{int}} NOT NULL,
  version {{int}} NOT NULL,
  blob_id {{text}} NOT NULL,
  cid {{text}} NOT NULL,
  hash {{text}} NOT NULL,
  size {{int}} NOT NULL,
  mime {{text}} NOT NULL,
  public_id {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL,
  trashed_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX filestore_files_path ON filestore_files (ns, path) WHERE trashed_ms = 0;
CREATE INDEX filestore_files_cid ON filestore_files (ns, cid, path) WHERE trashed_ms = 0;
CREATE INDEX filestore_files_trash ON filestore_files (ns, trashed_ms, id) WHERE trashed_ms <> 0;
CREATE INDEX filestore_files_expiry ON filestore_files (trashed_ms) WHERE trashed_ms <> 0;
CREATE UNIQUE INDEX filestore_files_public ON filestore_files (public_id) WHERE public_id <> '';

CREATE TABLE filestore_versions (
  file_id {{text}} NOT NULL,
  version {{int}} NOT NULL,
  blob_id {{text}} NOT NULL,
  cid {{text}} NOT NULL,
  hash {{text}} NOT NULL,
  size {{int}} NOT NULL,
  mime {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  invoker {{text}} NOT NULL,
  actor {{text}} NOT NULL,
  PRIMARY KEY (file_id, version)
) {{clustered}};
CREATE INDEX filestore_versions_blob ON filestore_versions (blob_id);

-- state: 0 pending (written under a lease), 1 live, 2 dead. A dead blob has no
-- key any more. at_ms is the lease's end while pending, the time of death when dead.
CREATE TABLE filestore_blobs (
  id {{text}} NOT NULL PRIMARY KEY,
  ns {{text}} NOT NULL,
  state {{int}} NOT NULL,
  wrapped_key {{blob}},
  size {{int}} NOT NULL,
  leaves {{blob}},
  at_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX filestore_blobs_state ON filestore_blobs (state, at_ms) WHERE state <> 1;

CREATE TABLE filestore_extents (
  blob_id {{text}} NOT NULL,
  seq {{int}} NOT NULL,
  object {{text}} NOT NULL,
  inline {{blob}},
  header {{blob}} NOT NULL,
  size {{int}} NOT NULL,
  sealed {{int}} NOT NULL,
  PRIMARY KEY (blob_id, seq)
) {{table}};

-- Both the change feed and the audit.
CREATE TABLE filestore_events (
  ns {{text}} NOT NULL,
  seq {{int}} NOT NULL,
  at_ms {{int}} NOT NULL,
  op {{text}} NOT NULL,
  file_id {{text}} NOT NULL,
  path {{text}} NOT NULL,
  hidden {{int}} NOT NULL,
  from_path {{text}} NOT NULL,
  from_hidden {{int}} NOT NULL,
  version {{int}} NOT NULL,
  cid {{text}} NOT NULL,
  before_cid {{text}} NOT NULL,
  size {{int}} NOT NULL,
  mime {{text}} NOT NULL,
  invoker {{text}} NOT NULL,
  actor {{text}} NOT NULL,
  proof {{text}} NOT NULL,
  PRIMARY KEY (ns, seq)
) {{clustered}};

-- Receipts of changes that were made under an idempotency key.
CREATE TABLE filestore_once (
  ns {{text}} NOT NULL,
  key {{text}} NOT NULL,
  fingerprint {{text}} NOT NULL,
  receipt {{blob}} NOT NULL,
  at_ms {{int}} NOT NULL,
  PRIMARY KEY (ns, key)
) {{clustered}};
CREATE INDEX filestore_once_at ON filestore_once (at_ms);
