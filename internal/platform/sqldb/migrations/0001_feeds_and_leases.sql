-- Tables that the platform itself needs, in every database.
CREATE TABLE platform_feeds (
  name {{text}} NOT NULL PRIMARY KEY,
  last {{int}} NOT NULL
) {{clustered}};

CREATE TABLE platform_leases (
  name {{text}} NOT NULL PRIMARY KEY,
  holder {{text}} NOT NULL,
  epoch {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL
) {{clustered}};

-- When a slot of a schedule last ran, so that no two nodes run the same one.
CREATE TABLE platform_slots (
  name {{text}} NOT NULL PRIMARY KEY,
  slot {{int}} NOT NULL
) {{clustered}};
