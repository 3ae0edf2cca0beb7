-- What is pruned is found by its age.
CREATE INDEX ussd_attempts_updated ON ussd_attempts (updated_ms);
CREATE INDEX ussd_questions_settled ON ussd_questions (updated_ms) WHERE state >= 2;
CREATE INDEX ussd_pin_checks_lapses ON ussd_pin_checks (lapses_ms);
