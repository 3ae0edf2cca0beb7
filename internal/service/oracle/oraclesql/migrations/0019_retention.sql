-- What operators chose to keep for a while only is found by its age. Sessions go by when
-- they were made, which no turn changes: those that are still used are read and left.
CREATE INDEX oracle_sessions_born ON oracle_sessions (created_ms, id) WHERE expires_ms = 0;
CREATE INDEX oracle_runs_over ON oracle_runs (ended_ms, id) WHERE pruned = 1;
CREATE INDEX oracle_calls_over ON oracle_calls (ended_ms, id) WHERE status = 'ended';
