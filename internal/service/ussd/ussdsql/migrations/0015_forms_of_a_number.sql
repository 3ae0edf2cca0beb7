-- What a number sent without an account is found when its last account is erased.
CREATE INDEX ussd_submissions_phone ON ussd_submissions (phone) WHERE account = '';
