-- Who may come in. left_feed is the number of a removal in the feed
-- "membership_departures", and 0 for members.
CREATE TABLE membership_members (
  did {{text}} NOT NULL PRIMARY KEY,
  note {{text}} NOT NULL,
  invitation {{text}} NOT NULL,
  added_ms {{int}} NOT NULL,
  removed_ms {{int}} NOT NULL,
  left_feed {{int}} NOT NULL
) {{clustered}};
CREATE INDEX membership_members_left ON membership_members (left_feed) WHERE left_feed > 0;

-- Invitations, by the hash of their code.
CREATE TABLE membership_invitations (
  id {{text}} NOT NULL PRIMARY KEY,
  hash {{text}} NOT NULL,
  note {{text}} NOT NULL,
  max_uses {{int}} NOT NULL,
  uses {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  revoked_ms {{int}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX membership_invitations_hash ON membership_invitations (hash);
CREATE INDEX membership_invitations_created ON membership_invitations (created_ms);

-- The mode that was chosen last.
CREATE TABLE membership_choice (
  name {{text}} NOT NULL PRIMARY KEY,
  mode {{text}} NOT NULL,
  chosen_ms {{int}} NOT NULL
) {{table}};
