-- What nodes write now and then to know that writes go through: each to one of a few rows, so that nothing has to be swept.
CREATE TABLE app_pulse (
  slot {{int}} NOT NULL PRIMARY KEY,
  node {{text}} NOT NULL,
  written_ms {{int}} NOT NULL
) {{table}};
