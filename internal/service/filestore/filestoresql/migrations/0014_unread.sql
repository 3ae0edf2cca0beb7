-- Which namespaces have changes that the search index has not read: a row is written in the
-- transaction of each change, and goes when the index has read up to the last.
CREATE TABLE filestore_unread (
  ns {{text}} NOT NULL PRIMARY KEY,
  last {{int}} NOT NULL
) {{clustered}};
INSERT INTO filestore_unread (ns, last) SELECT n.ns, p.last FROM filestore_namespaces n
  JOIN platform_feeds p ON p.name = 'filestore/' || n.ns
  LEFT JOIN filestore_text_indexes i ON i.id = n.ns WHERE p.last > COALESCE(i.seq, 0);

-- A collection is crowded while it has four segments of about one size, which are joined
-- (segmentsize.Tiers). Whoever adds a segment counts those of its collection, so that
-- nobody has to look at all.
ALTER TABLE filestore_text_indexes ADD COLUMN crowded {{int}} NOT NULL DEFAULT 0;
CREATE INDEX filestore_text_segments_live ON filestore_text_segments (collection, size) WHERE dead_ms = 0;
UPDATE filestore_text_indexes SET crowded = 1 WHERE id IN (SELECT collection FROM filestore_text_segments
  WHERE dead_ms = 0 AND size < 268435456
  GROUP BY collection, CASE WHEN size < 262144 THEN 0 WHEN size < 1048576 THEN 1 WHEN size < 4194304 THEN 2 WHEN size < 16777216 THEN 3 WHEN size < 67108864 THEN 4 ELSE 5 END
  HAVING COUNT(*) >= 4);
CREATE INDEX filestore_text_indexes_crowded ON filestore_text_indexes (id) WHERE crowded = 1;
CREATE INDEX filestore_text_indexes_lost ON filestore_text_indexes (id) WHERE dirty_ms > 0;
