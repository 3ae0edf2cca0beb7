-- Programs say the same thousands of times a day: the newest run of a request is found
-- without reading the others. The drop comes first: it takes the stronger lock, and a
-- node that begins a run meanwhile would wait for the build while the drop waits for it.
DROP INDEX oracle_runs_by_request;
CREATE INDEX oracle_runs_by_request_newest ON oracle_runs (owner, request_id, created_ms);
