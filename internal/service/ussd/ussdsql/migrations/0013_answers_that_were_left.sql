-- Answers that somebody left for an account, which no telephone was told of.
CREATE INDEX ussd_questions_left ON ussd_questions (updated_ms) WHERE state = 1 AND phone = '';
