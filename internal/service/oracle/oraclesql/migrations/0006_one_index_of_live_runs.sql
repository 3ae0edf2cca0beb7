-- Live runs are few: the index that has them by session also finds all of them,
-- and every run is entered into, and taken out of, one index less.
DROP INDEX oracle_runs_at_work;
