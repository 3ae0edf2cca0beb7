-- The name of the invocation that began a run: it may read the run to its end,
-- also when it has expired meanwhile.
ALTER TABLE oracle_runs ADD COLUMN began_by {{text}} NOT NULL DEFAULT '';
