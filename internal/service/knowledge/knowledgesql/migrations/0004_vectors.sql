-- Which segments have embeddings, by which model. A row without an id is a segment
-- whose passages nobody has embedded yet; due_ms is when somebody may.
CREATE TABLE knowledge_vectors (
  segment {{text}} NOT NULL,
  model {{text}} NOT NULL,
  collection {{text}} NOT NULL,
  id {{text}} NOT NULL,
  wrapped_key {{blob}} NOT NULL,
  header {{blob}} NOT NULL,
  size {{int}} NOT NULL,
  sealed {{int}} NOT NULL,
  vectors {{int}} NOT NULL,
  complete {{int}} NOT NULL,
  holder {{text}} NOT NULL,
  due_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  PRIMARY KEY (segment, model)
) {{clustered}};
CREATE INDEX knowledge_vectors_collection ON knowledge_vectors (collection, model);
CREATE INDEX knowledge_vectors_id ON knowledge_vectors (id);

-- When each namespace last had its turn with the embedder.
CREATE TABLE knowledge_vector_turns (
  ns {{text}} NOT NULL PRIMARY KEY,
  served {{int}} NOT NULL
) {{clustered}};
