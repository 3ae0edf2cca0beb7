-- A run that waits for a person rests: it is paused while pause_epoch is its
-- epoch, so that whoever takes it has woken it. Its lease is how long it waits.
ALTER TABLE oracle_runs ADD COLUMN pause_epoch {{int}} NOT NULL DEFAULT 0;
ALTER TABLE oracle_runs ADD COLUMN pauses {{int}} NOT NULL DEFAULT 0;

-- What people were asked, and what they said: kept as long as the session.
CREATE TABLE oracle_approvals (
  id          {{text}} NOT NULL PRIMARY KEY,
  run_id      {{text}} NOT NULL,
  session_id  {{text}} NOT NULL,
  owner       {{text}} NOT NULL,
  call_id     {{text}} NOT NULL,
  tool        {{text}} NOT NULL,
  args        {{text}} NOT NULL,
  reason      {{text}} NOT NULL,
  created_ms  {{int}} NOT NULL,
  expires_ms  {{int}} NOT NULL,
  decision    {{text}} NOT NULL DEFAULT '',
  answered_ms {{int}} NOT NULL DEFAULT 0,
  answered_by {{text}} NOT NULL DEFAULT '',
  via         {{text}} NOT NULL DEFAULT ''
) {{table}};
CREATE UNIQUE INDEX oracle_approvals_by_call ON oracle_approvals (run_id, call_id);
CREATE INDEX oracle_approvals_open ON oracle_approvals (owner) WHERE decision = '';
