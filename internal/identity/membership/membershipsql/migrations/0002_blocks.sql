-- Who is kept out, whoever else may come in. feed is the number of the last change in the
-- feed "membership_departures"; ended_ms is 0 while the block holds.
CREATE TABLE membership_blocks (
  did {{text}} NOT NULL PRIMARY KEY,
  note {{text}} NOT NULL,
  blocked_by {{text}} NOT NULL,
  blocked_ms {{int}} NOT NULL,
  ended_ms {{int}} NOT NULL,
  feed {{int}} NOT NULL
) {{clustered}};
CREATE INDEX membership_blocks_feed ON membership_blocks (feed);
-- Members by what reminds operators of them.
CREATE INDEX membership_members_note ON membership_members (lower(note), did);
