-- What was withdrawn, for ever. The number comes from the feed "identity_revocations".
CREATE TABLE identity_revocations (
  feed {{int}} NOT NULL PRIMARY KEY,
  kind {{text}} NOT NULL,
  target {{text}} NOT NULL,
  revoked_by {{text}} NOT NULL,
  at_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX identity_revocations_target ON identity_revocations (kind, target);

-- Statements that may be used once, until they expire anyway.
CREATE TABLE identity_marks (
  mark {{text}} NOT NULL PRIMARY KEY,
  until_ms {{int}} NOT NULL
) {{clustered}};
CREATE INDEX identity_marks_until ON identity_marks (until_ms);

-- Users' delegations to this service; expires_ms 0 is never.
CREATE TABLE identity_delegations (
  user_did {{text}} NOT NULL PRIMARY KEY,
  raw {{text}} NOT NULL,
  cid {{text}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL
) {{clustered}};
CREATE INDEX identity_delegations_expires ON identity_delegations (expires_ms);
