-- What one person may have in place of what everybody may; -1 is what everybody may. feed is
-- the number of the last change in the feed "membership_quotas".
CREATE TABLE membership_quotas (
  did {{text}} NOT NULL PRIMARY KEY,
  bytes {{int}} NOT NULL,
  messages {{int}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  set_by {{text}} NOT NULL,
  set_ms {{int}} NOT NULL,
  feed {{int}} NOT NULL
) {{clustered}};
CREATE INDEX membership_quotas_feed ON membership_quotas (feed);
