CREATE TABLE ussd_codes (
  account {{text}} NOT NULL,
  purpose {{text}} NOT NULL,
  issuer {{text}} NOT NULL,
  mac {{blob}} NOT NULL,
  created_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  PRIMARY KEY (account, purpose, issuer)
) {{table}};

CREATE TABLE ussd_acts (
  id {{text}} NOT NULL PRIMARY KEY,
  at_ms {{int}} NOT NULL,
  actor {{text}} NOT NULL,
  act {{text}} NOT NULL,
  account {{text}} NOT NULL,
  detail {{text}} NOT NULL
) {{table}};
CREATE INDEX ussd_acts_at ON ussd_acts (at_ms);
CREATE INDEX ussd_acts_account ON ussd_acts (account);
