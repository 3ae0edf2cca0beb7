CREATE TABLE ussd_closed_accounts (
  id {{text}} NOT NULL PRIMARY KEY,
  phone {{text}} NOT NULL,
  name {{text}} NOT NULL,
  email {{text}} NOT NULL,
  language {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  closed_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_closed_accounts_phone ON ussd_closed_accounts (phone);
