-- Questions that people answer. What was asked, by whom, and what was answered is
-- sealed under the collection's key; asker is a pseudonym under the master key.
CREATE TABLE knowledge_inquiries (
  id {{text}} NOT NULL PRIMARY KEY,
  collection {{text}} NOT NULL,
  asker {{text}} NOT NULL,
  state {{int}} NOT NULL,
  kept {{int}} NOT NULL,
  sealed {{blob}} NOT NULL,
  created_ms {{int}} NOT NULL,
  settled_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX knowledge_inquiries_collection ON knowledge_inquiries (collection, state, id);
CREATE INDEX knowledge_inquiries_asker ON knowledge_inquiries (asker, created_ms);

-- Who did what to an inquiry. It outlives the inquiry.
CREATE TABLE knowledge_inquiry_events (
  inquiry {{text}} NOT NULL,
  number {{int}} NOT NULL,
  at_ms {{int}} NOT NULL,
  actor {{text}} NOT NULL,
  action {{text}} NOT NULL,
  PRIMARY KEY (inquiry, number)
) {{clustered}};

-- Questions with the answers that people gave, which win where the same is asked.
CREATE TABLE knowledge_pairs (
  id {{text}} NOT NULL PRIMARY KEY,
  collection {{text}} NOT NULL,
  sealed {{blob}} NOT NULL
) {{table}};
CREATE INDEX knowledge_pairs_collection ON knowledge_pairs (collection, id);
