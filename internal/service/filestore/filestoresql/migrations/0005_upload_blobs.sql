-- The doctor asks whether an upload still owns what it left beside a content.
CREATE INDEX filestore_uploads_blob ON filestore_uploads (blob_id);
