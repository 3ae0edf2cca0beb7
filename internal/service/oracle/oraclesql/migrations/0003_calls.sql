-- Live calls. A call lives on one node: whose lease ends took its calls along.
CREATE TABLE oracle_calls (
  id          {{text}} NOT NULL PRIMARY KEY,
  session_id  {{text}} NOT NULL,
  owner       {{text}} NOT NULL,
  node        {{text}} NOT NULL,
  kind        {{text}} NOT NULL,
  status      {{text}} NOT NULL,
  reason      {{text}} NOT NULL DEFAULT '',
  voice       {{text}} NOT NULL DEFAULT '',
  language    {{text}} NOT NULL DEFAULT '',
  framed      {{int}} NOT NULL DEFAULT 0,
  fingerprint {{text}} NOT NULL,
  agreement   {{text}} NOT NULL,
  lease_ms    {{int}} NOT NULL,
  created_ms  {{int}} NOT NULL,
  started_ms  {{int}} NOT NULL DEFAULT 0,
  ended_ms    {{int}} NOT NULL DEFAULT 0,
  expires_ms  {{int}} NOT NULL
) {{table}};
CREATE INDEX oracle_calls_by_session ON oracle_calls (session_id, created_ms DESC, id);
CREATE INDEX oracle_calls_open_by_owner ON oracle_calls (owner) WHERE status <> 'ended';
CREATE INDEX oracle_calls_open_by_node ON oracle_calls (node) WHERE status <> 'ended';
CREATE INDEX oracle_calls_open_by_lease ON oracle_calls (lease_ms) WHERE status <> 'ended';
