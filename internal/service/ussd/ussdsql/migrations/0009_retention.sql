-- Forms that operators chose to keep for a while only are found by their age.
CREATE INDEX ussd_submissions_at ON ussd_submissions (at_ms, id);
