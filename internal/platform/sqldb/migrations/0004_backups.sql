-- What was asked for of backups, and how it went. The backups themselves are known by what
-- is stored at their place. state: 0 waits, 1 is under way, 2 was done, 3 failed.
CREATE TABLE platform_backups (
  id {{text}} NOT NULL PRIMARY KEY,
  kind {{text}} NOT NULL,
  name {{text}} NOT NULL,
  asked_by {{text}} NOT NULL,
  asked_ms {{int}} NOT NULL,
  state {{int}} NOT NULL,
  attempts {{int}} NOT NULL,
  began_ms {{int}} NOT NULL,
  ended_ms {{int}} NOT NULL,
  bytes {{int}} NOT NULL,
  problem {{text}} NOT NULL
) {{table}};
CREATE INDEX platform_backups_open ON platform_backups (state, id);
