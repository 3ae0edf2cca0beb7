CREATE TABLE ussd_links (
  account {{text}} NOT NULL PRIMARY KEY,
  did {{text}} NOT NULL,
  created_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_links_did ON ussd_links (did);
