-- Every batch of frames renews a lease: an index over the leases made that
-- dearer than the frames. There are never many live runs to look through.
CREATE INDEX oracle_runs_at_work ON oracle_runs (status) WHERE status IN ('queued', 'running', 'recovering');
DROP INDEX oracle_runs_live;
