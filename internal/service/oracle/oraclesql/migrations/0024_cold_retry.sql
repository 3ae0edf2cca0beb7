-- Until when those that bring back what is due leave an archived conversation alone which
-- could not be opened: it holds up nothing, and is tried again then.
ALTER TABLE oracle_cold ADD COLUMN retry_ms {{int}} NOT NULL DEFAULT 0;
