-- Conversations that nobody uses lie as sealed objects in the object store: a session is
-- cold while its messages, runs and approvals do. thawed_ms grows whenever they come back.
ALTER TABLE oracle_sessions ADD COLUMN cold {{int}} NOT NULL DEFAULT 0;
ALTER TABLE oracle_sessions ADD COLUMN thawed_ms {{int}} NOT NULL DEFAULT 0;
CREATE INDEX oracle_sessions_warm ON oracle_sessions (created_ms, id) WHERE expires_ms = 0 AND cold = 0;
CREATE INDEX oracle_sessions_cold_unread ON oracle_sessions (id) WHERE cold = 1 AND unread = 1;

-- Objects: reserved before they are stored (dead_ms is then the time of that), live while
-- dead_ms is 0, and dead from a time on; with 1 they are being deleted. Without its key an
-- object is nothing.
CREATE TABLE oracle_cold (
  id            {{text}} NOT NULL PRIMARY KEY,
  session_id    {{text}} NOT NULL,
  wrapped_key   {{blob}} NOT NULL,
  size          {{int}} NOT NULL DEFAULT 0,
  sealed        {{int}} NOT NULL DEFAULT 0,
  bytes         {{int}} NOT NULL DEFAULT 0,
  digest        {{text}} NOT NULL DEFAULT '',
  oldest_run_ms {{int}} NOT NULL DEFAULT 0,
  dead_ms       {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX oracle_cold_by_session ON oracle_cold (session_id) WHERE dead_ms = 0;
CREATE INDEX oracle_cold_dead ON oracle_cold (dead_ms) WHERE dead_ms > 0;
CREATE INDEX oracle_cold_with_runs ON oracle_cold (oldest_run_ms) WHERE dead_ms = 0 AND oldest_run_ms > 0;

-- Which session a run lies with, for those who know the run alone.
CREATE TABLE oracle_cold_runs (
  id         {{text}} NOT NULL PRIMARY KEY,
  session_id {{text}} NOT NULL
) {{clustered}};
CREATE INDEX oracle_cold_runs_by_session ON oracle_cold_runs (session_id);

-- What wraps the keys of the objects, under the master key of files; and how many objects
-- are live, so that nobody has to count them.
CREATE TABLE oracle_cold_keys (
  id          {{text}} NOT NULL PRIMARY KEY,
  wrapped_key {{blob}} NOT NULL,
  master_id   {{text}} NOT NULL
) {{table}};
CREATE TABLE oracle_cold_totals (
  id            {{int}} NOT NULL PRIMARY KEY,
  conversations {{int}} NOT NULL,
  bytes         {{int}} NOT NULL,
  sealed        {{int}} NOT NULL
) {{table}};
