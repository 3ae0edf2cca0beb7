-- Programs say the same thousands of times a day: the newest run of a request is found
-- without reading the others.
CREATE INDEX oracle_runs_by_request_newest ON oracle_runs (owner, request_id, created_ms);
DROP INDEX oracle_runs_by_request;
