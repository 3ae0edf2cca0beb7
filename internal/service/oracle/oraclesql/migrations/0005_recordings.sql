-- Recordings of calls: where one is being written, and when it is next looked at
-- if its call ended without it being finished.
ALTER TABLE oracle_calls ADD COLUMN recording_state {{text}} NOT NULL DEFAULT '';
ALTER TABLE oracle_calls ADD COLUMN recording_path {{text}} NOT NULL DEFAULT '';
ALTER TABLE oracle_calls ADD COLUMN recording_ref {{text}} NOT NULL DEFAULT '';
ALTER TABLE oracle_calls ADD COLUMN recording_due_ms {{int}} NOT NULL DEFAULT 0;
CREATE INDEX oracle_calls_unfinished ON oracle_calls (recording_due_ms) WHERE recording_state = 'on' AND status = 'ended';
