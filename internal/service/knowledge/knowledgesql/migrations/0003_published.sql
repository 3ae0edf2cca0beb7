-- Up to whom an operator lets a collection be read: everybody, or members. Until there
-- is a row, a collection for either is its owner's alone.
CREATE TABLE knowledge_published (
  collection {{text}} NOT NULL PRIMARY KEY,
  readers {{text}} NOT NULL,
  published_ms {{int}} NOT NULL
) {{clustered}};
