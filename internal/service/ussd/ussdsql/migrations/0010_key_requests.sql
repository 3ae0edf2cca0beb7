-- Requests that a new key takes the place of the key of a linked person. person and
-- linked_ms are as they were when it was asked for.
CREATE TABLE ussd_key_requests (
  id {{text}} NOT NULL PRIMARY KEY,
  account {{text}} NOT NULL,
  person {{text}} NOT NULL,
  key_did {{text}} NOT NULL,
  linked_ms {{int}} NOT NULL,
  asked_ms {{int}} NOT NULL,
  ready_ms {{int}} NOT NULL,
  expires_ms {{int}} NOT NULL,
  state {{text}} NOT NULL,
  decided_ms {{int}} NOT NULL,
  decided_by {{text}} NOT NULL
) {{table}};
CREATE UNIQUE INDEX ussd_key_requests_waiting ON ussd_key_requests (person) WHERE state = 'waiting';
CREATE INDEX ussd_key_requests_account ON ussd_key_requests (account);
CREATE INDEX ussd_key_requests_person ON ussd_key_requests (person, asked_ms);
CREATE INDEX ussd_key_requests_key ON ussd_key_requests (key_did);
CREATE INDEX ussd_key_requests_asked ON ussd_key_requests (asked_ms);
