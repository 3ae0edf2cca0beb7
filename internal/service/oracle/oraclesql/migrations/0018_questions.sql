-- A call may ask more than once, and for more than a yes: what it asks for, in which
-- round, and what the person said.
ALTER TABLE oracle_approvals ADD COLUMN round {{int}} NOT NULL DEFAULT 0;
ALTER TABLE oracle_approvals ADD COLUMN question {{text}} NOT NULL DEFAULT '';
ALTER TABLE oracle_approvals ADD COLUMN content {{text}} NOT NULL DEFAULT '';
CREATE UNIQUE INDEX oracle_approvals_by_round ON oracle_approvals (run_id, call_id, round);
DROP INDEX oracle_approvals_by_call;
