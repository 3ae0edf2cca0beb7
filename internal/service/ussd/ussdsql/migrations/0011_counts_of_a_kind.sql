-- How many sessions began on each day is asked for, without what happened in them.
CREATE INDEX ussd_counts_kind ON ussd_counts (kind, day);
