CREATE TABLE oracle_sessions (
  id              {{text}} NOT NULL PRIMARY KEY,
  owner           {{text}} NOT NULL,
  title           {{text}} NOT NULL,
  thread          {{text}} NOT NULL DEFAULT '',
  room_id         {{text}} NOT NULL DEFAULT '',
  created_ms      {{int}} NOT NULL,
  updated_ms      {{int}} NOT NULL,
  next_seq        {{int}} NOT NULL DEFAULT 1,
  messages        {{int}} NOT NULL DEFAULT 0,
  summary         {{text}} NOT NULL DEFAULT '',
  summary_through {{int}} NOT NULL DEFAULT 0,
  loaded          {{text}} NOT NULL DEFAULT '[]'
) {{table}};
CREATE INDEX oracle_sessions_by_owner ON oracle_sessions (owner, updated_ms DESC, id);
CREATE UNIQUE INDEX oracle_sessions_by_thread ON oracle_sessions (owner, thread) WHERE thread <> '';

-- The transcript reads in the order (turn, seq): a message that waits behind a
-- run is stored before that run's answer.
CREATE TABLE oracle_messages (
  session_id  {{text}} NOT NULL,
  turn        {{int}} NOT NULL,
  seq         {{int}} NOT NULL,
  id          {{text}} NOT NULL,
  run_id      {{text}} NOT NULL,
  role        {{text}} NOT NULL,
  content     {{text}} NOT NULL,
  reasoning   {{text}} NOT NULL DEFAULT '',
  tool_calls  {{text}} NOT NULL DEFAULT '',
  attachments {{text}} NOT NULL DEFAULT '',
  created_ms  {{int}} NOT NULL,
  PRIMARY KEY (session_id, turn, seq)
) {{clustered}};
CREATE UNIQUE INDEX oracle_messages_by_id ON oracle_messages (session_id, id);

CREATE TABLE oracle_runs (
  id          {{text}} NOT NULL PRIMARY KEY,
  session_id  {{text}} NOT NULL,
  owner       {{text}} NOT NULL,
  request_id  {{text}} NOT NULL,
  message_id  {{text}} NOT NULL,
  turn        {{int}} NOT NULL,
  status      {{text}} NOT NULL,
  node        {{text}} NOT NULL DEFAULT '',
  epoch       {{int}} NOT NULL DEFAULT 0,
  lease_ms    {{int}} NOT NULL DEFAULT 0,
  attempt     {{int}} NOT NULL DEFAULT 0,
  next_seq    {{int}} NOT NULL DEFAULT 1,
  abort_ms    {{int}} NOT NULL DEFAULT 0,
  request     {{text}} NOT NULL,
  checkpoint  {{text}} NOT NULL DEFAULT '',
  error_kind  {{text}} NOT NULL DEFAULT '',
  model       {{text}} NOT NULL DEFAULT '',
  usage       {{text}} NOT NULL DEFAULT '{}',
  steps       {{int}} NOT NULL DEFAULT 0,
  pruned      {{int}} NOT NULL DEFAULT 0,
  created_ms  {{int}} NOT NULL,
  ended_ms    {{int}} NOT NULL DEFAULT 0
) {{table}};
-- One run at a time works in a session, whatever the nodes believe.
CREATE UNIQUE INDEX oracle_runs_one_at_work ON oracle_runs (session_id) WHERE status IN ('running', 'recovering');
CREATE INDEX oracle_runs_live ON oracle_runs (status, lease_ms) WHERE status IN ('queued', 'running', 'recovering');
CREATE INDEX oracle_runs_by_session ON oracle_runs (session_id, turn);
CREATE INDEX oracle_runs_by_request ON oracle_runs (owner, request_id);
CREATE INDEX oracle_runs_to_prune ON oracle_runs (ended_ms) WHERE ended_ms > 0 AND pruned = 0;

-- Frames are kept in the batches in which they were written, one line each.
CREATE TABLE oracle_frames (
  run_id    {{text}} NOT NULL,
  first_seq {{int}} NOT NULL,
  last_seq  {{int}} NOT NULL,
  lines     {{text}} NOT NULL,
  PRIMARY KEY (run_id, first_seq)
) {{clustered}};

-- plugin.Store: ordered keys of each plugin.
CREATE TABLE oracle_plugin_keys (
  plugin     {{text}} NOT NULL,
  key        {{text}} NOT NULL,
  value      {{blob}} NOT NULL,
  expires_ms {{int}} NOT NULL DEFAULT 0,
  PRIMARY KEY (plugin, key)
) {{clustered}};
CREATE INDEX oracle_plugin_keys_expiry ON oracle_plugin_keys (expires_ms) WHERE expires_ms > 0;
