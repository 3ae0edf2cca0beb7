-- A run whose request proved itself by a delegation that others may hold: what its user
-- stored does not count for it, also when it goes on without the request.
ALTER TABLE oracle_runs ADD COLUMN narrow {{int}} NOT NULL DEFAULT 0;
