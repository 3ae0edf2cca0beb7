CREATE TABLE ussd_sms (
  id {{text}} NOT NULL PRIMARY KEY,
  kind {{text}} NOT NULL,
  phone {{text}} NOT NULL,
  sealed {{blob}} NOT NULL,
  parts {{int}} NOT NULL,
  state {{text}} NOT NULL,
  attempts {{int}} NOT NULL,
  reference {{text}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  currency {{text}} NOT NULL,
  error {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  settled_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_sms_created ON ussd_sms (created_ms);
CREATE INDEX ussd_sms_waiting ON ussd_sms (created_ms) WHERE state = 'waiting';
CREATE INDEX ussd_sms_phone ON ussd_sms (phone);

CREATE TABLE ussd_sms_days (
  day {{text}} NOT NULL,
  phone {{text}} NOT NULL,
  parts {{int}} NOT NULL,
  PRIMARY KEY (day, phone)
) {{table}};
CREATE INDEX ussd_sms_days_phone ON ussd_sms_days (phone);

CREATE TABLE ussd_sms_received (
  id {{text}} NOT NULL PRIMARY KEY,
  phone {{text}} NOT NULL,
  sealed {{blob}} NOT NULL,
  at_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_sms_received_at ON ussd_sms_received (at_ms);
CREATE INDEX ussd_sms_received_phone ON ussd_sms_received (phone);

CREATE TABLE ussd_sms_stopped (
  phone {{text}} NOT NULL PRIMARY KEY,
  at_ms {{int}} NOT NULL
) {{table}};
