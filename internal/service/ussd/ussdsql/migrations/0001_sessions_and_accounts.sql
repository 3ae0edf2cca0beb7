CREATE TABLE ussd_sessions (
  id {{text}} NOT NULL PRIMARY KEY,
  rev {{int}} NOT NULL,
  hop {{int}} NOT NULL,
  phone {{text}} NOT NULL,
  service_code {{text}} NOT NULL,
  dialect {{text}} NOT NULL,
  menu {{text}} NOT NULL,
  screen {{text}} NOT NULL,
  status {{int}} NOT NULL,
  account {{text}} NOT NULL,
  text_len {{int}} NOT NULL,
  text_mac {{blob}} NOT NULL,
  answer {{text}} NOT NULL,
  body {{blob}} NOT NULL,
  claim_until_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_sessions_expires ON ussd_sessions (expires_ms);
CREATE INDEX ussd_sessions_phone ON ussd_sessions (phone);
CREATE INDEX ussd_sessions_account ON ussd_sessions (account) WHERE account <> '';

CREATE TABLE ussd_phones (
  phone {{text}} NOT NULL PRIMARY KEY,
  language {{text}} NOT NULL,
  updated_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_phones_updated ON ussd_phones (updated_ms);

CREATE TABLE ussd_accounts (
  id {{text}} NOT NULL PRIMARY KEY,
  phone {{text}} NOT NULL,
  name {{text}} NOT NULL,
  email {{text}} NOT NULL,
  language {{text}} NOT NULL,
  pin {{blob}} NOT NULL,
  created_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_accounts_phone ON ussd_accounts (phone);

CREATE TABLE ussd_attempts (
  subject {{text}} NOT NULL,
  origin {{text}} NOT NULL,
  failures {{int}} NOT NULL,
  locked_until_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL,
  PRIMARY KEY (subject, origin)
) {{table}};

CREATE TABLE ussd_questions (
  id {{text}} NOT NULL PRIMARY KEY,
  account {{text}} NOT NULL,
  phone {{text}} NOT NULL,
  language {{text}} NOT NULL,
  question {{text}} NOT NULL,
  answer {{text}} NOT NULL,
  state {{int}} NOT NULL,
  tries {{int}} NOT NULL,
  taken_until_ms {{int}} NOT NULL,
  created_ms {{int}} NOT NULL,
  updated_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_questions_account ON ussd_questions (account, created_ms);
CREATE INDEX ussd_questions_asked ON ussd_questions (taken_until_ms) WHERE state = 0;

CREATE TABLE ussd_menus (
  version {{text}} NOT NULL PRIMARY KEY,
  source {{blob}} NOT NULL,
  created_ms {{int}} NOT NULL
) {{table}};

CREATE TABLE ussd_counts (
  day {{text}} NOT NULL,
  menu {{text}} NOT NULL,
  kind {{text}} NOT NULL,
  from_screen {{text}} NOT NULL,
  to_screen {{text}} NOT NULL,
  n {{int}} NOT NULL,
  PRIMARY KEY (day, menu, kind, from_screen, to_screen)
) {{table}};
