-- Links that operators chose to forget some time after their end are found by it.
CREATE INDEX filestore_shares_over ON filestore_shares (expires_ms, id) WHERE expires_ms > 0;
