-- Work that waits. due_ms is when an item is tried next, by the database's clock;
-- while somebody holds it, when that one has lost it. taken counts the holders,
-- which fences the earlier ones off; attempt counts the tries that failed.
CREATE TABLE queue_items (
  queue {{text}} NOT NULL,
  id {{text}} NOT NULL,
  lane {{text}} NOT NULL,
  payload {{blob}} NOT NULL,
  added_ms {{int}} NOT NULL,
  due_ms {{int}} NOT NULL,
  attempt {{int}} NOT NULL,
  taken {{int}} NOT NULL,
  holder {{text}} NOT NULL,
  PRIMARY KEY (queue, id)
) {{clustered}};
CREATE INDEX queue_items_due ON queue_items (queue, due_ms);
CREATE INDEX queue_items_lane ON queue_items (queue, lane, due_ms);
CREATE INDEX queue_items_holder ON queue_items (holder) WHERE holder <> '';
