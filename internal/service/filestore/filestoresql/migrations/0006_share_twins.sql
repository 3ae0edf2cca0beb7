-- Whoever has a delegation with an ECDSA signature can write it with the mirrored
-- one, under another CID: a link is known by both. Empty where there is no twin.
ALTER TABLE filestore_shares ADD COLUMN twin_cid {{text}} NOT NULL DEFAULT '';
CREATE INDEX filestore_shares_twin ON filestore_shares (twin_cid) WHERE twin_cid <> '';
