-- The first frames of a run are stored with the run itself: one write less
-- before anything can be shown.
ALTER TABLE oracle_runs ADD COLUMN opening {{text}} NOT NULL DEFAULT '';
-- The live runs of a session are asked for by every message.
CREATE INDEX oracle_runs_live_by_session ON oracle_runs (session_id) WHERE status IN ('queued', 'running', 'recovering');
