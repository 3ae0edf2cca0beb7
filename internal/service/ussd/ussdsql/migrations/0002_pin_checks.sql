CREATE TABLE ussd_pin_checks (
  subject {{text}} NOT NULL,
  origin {{text}} NOT NULL,
  session {{text}} NOT NULL,
  token {{text}} NOT NULL,
  lapses_ms {{int}} NOT NULL,
  PRIMARY KEY (subject, origin, session)
) {{table}};
