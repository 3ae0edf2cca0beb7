-- How many rows each table had on a day, numbered from 1970 in UTC: an estimate where the
-- engine has one. bytes is 0 where the engine does not tell.
CREATE TABLE platform_growth (
  name {{text}} NOT NULL,
  day {{int}} NOT NULL,
  rows {{int}} NOT NULL,
  bytes {{int}} NOT NULL,
  PRIMARY KEY (name, day)
) {{clustered}};
