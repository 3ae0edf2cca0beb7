-- All sessions and calls of one person, in an order that using them does not change: for
-- exports.
CREATE INDEX oracle_sessions_of_owner ON oracle_sessions (owner, id) WHERE expires_ms = 0;
CREATE INDEX oracle_calls_of_owner ON oracle_calls (owner, id);
