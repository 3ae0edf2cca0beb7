-- An index costs every dial, and a hop that moves its row in one costs as much again. When
-- a session is looked at next by the sweep is kept apart from when it expires, which every
-- hop changes; a telephone's sessions are found only where they may be offered again. Nodes
-- of the release before say neither: their sessions are looked at at once, and not offered.
ALTER TABLE ussd_sessions ADD COLUMN due_ms {{int}} NOT NULL DEFAULT 0;
ALTER TABLE ussd_sessions ADD COLUMN resumable {{int}} NOT NULL DEFAULT 0;
DROP INDEX ussd_sessions_expires;
DROP INDEX ussd_sessions_phone;
CREATE INDEX ussd_sessions_due ON ussd_sessions (due_ms);
CREATE INDEX ussd_sessions_resumable ON ussd_sessions (phone) WHERE resumable = 1;
