-- What the unfinished uploads of a namespace hold is added up while they grow.
CREATE INDEX filestore_uploads_ns ON filestore_uploads (ns);
