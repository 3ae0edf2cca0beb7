-- When the revoked token expires by itself; 0 is never, and what earlier releases write.
ALTER TABLE identity_revocations ADD COLUMN until_ms {{int}} NOT NULL DEFAULT 0;
CREATE INDEX identity_revocations_until ON identity_revocations (until_ms);
