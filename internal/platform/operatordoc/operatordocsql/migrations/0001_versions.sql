-- Versions of the documents that operators change. The numbers of a document
-- count up; feed is the place among the versions of all documents.
CREATE TABLE operatordoc_versions (
  document {{text}} NOT NULL,
  number {{int}} NOT NULL,
  feed {{int}} NOT NULL,
  body {{blob}} NOT NULL,
  size {{int}} NOT NULL,
  removed {{int}} NOT NULL,
  restores {{int}} NOT NULL,
  author {{text}} NOT NULL,
  note {{text}} NOT NULL,
  written_ms {{int}} NOT NULL,
  PRIMARY KEY (document, number)
) {{table}};
CREATE UNIQUE INDEX operatordoc_versions_feed ON operatordoc_versions (feed);
