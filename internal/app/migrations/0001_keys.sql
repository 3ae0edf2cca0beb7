-- A check value of each secret, so that a node with another key refuses to start.
CREATE TABLE app_keys (
  name {{text}} NOT NULL PRIMARY KEY,
  check_value {{text}} NOT NULL
) {{clustered}};
