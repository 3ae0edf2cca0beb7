CREATE TABLE ussd_submissions (
  id {{text}} NOT NULL PRIMARY KEY,
  form {{text}} NOT NULL,
  menu {{text}} NOT NULL,
  account {{text}} NOT NULL,
  phone {{text}} NOT NULL,
  language {{text}} NOT NULL,
  at_ms {{int}} NOT NULL
) {{table}};
CREATE INDEX ussd_submissions_form ON ussd_submissions (form, id);
CREATE INDEX ussd_submissions_account ON ussd_submissions (account);

CREATE TABLE ussd_submission_values (
  submission {{text}} NOT NULL,
  position {{int}} NOT NULL,
  field {{text}} NOT NULL,
  kind {{text}} NOT NULL,
  value {{text}} NOT NULL,
  number {{real}},
  PRIMARY KEY (submission, position)
) {{table}};
