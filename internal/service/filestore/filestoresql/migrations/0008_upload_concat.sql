-- What an upload has to do with others: 'partial' is a piece of a file that is
-- shown by no name of its own, 'final a b' was joined from the uploads a and b.
ALTER TABLE filestore_uploads ADD COLUMN concat {{text}} NOT NULL DEFAULT '';
