-- What operators asked to change. id sorts by time.
CREATE TABLE audit_acts (
  id {{text}} NOT NULL PRIMARY KEY,
  actor {{text}} NOT NULL,
  role {{text}} NOT NULL,
  act {{text}} NOT NULL,
  target {{text}} NOT NULL,
  status {{int}} NOT NULL
) {{table}};
CREATE INDEX audit_acts_actor ON audit_acts (actor, id);
CREATE INDEX audit_acts_act ON audit_acts (act, id);
