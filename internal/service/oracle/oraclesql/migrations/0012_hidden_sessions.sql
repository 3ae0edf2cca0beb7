-- Conversations that other programs keep run in sessions that nobody sees, and
-- that are deleted after a day. Lists leave them out without reading them.
ALTER TABLE oracle_sessions ADD COLUMN expires_ms {{int}} NOT NULL DEFAULT 0;
CREATE INDEX oracle_sessions_shown ON oracle_sessions (owner, updated_ms DESC, id) WHERE expires_ms = 0;
CREATE INDEX oracle_sessions_expiring ON oracle_sessions (expires_ms) WHERE expires_ms > 0;
DROP INDEX oracle_sessions_by_owner;
