-- What somebody had of the oracle on a day, where that is limited. Days are
-- numbered from 1970, in UTC.
CREATE TABLE oracle_usage (
  sponsor     {{text}} NOT NULL,
  day         {{int}} NOT NULL,
  messages    {{int}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  PRIMARY KEY (sponsor, day)
) {{clustered}};
CREATE INDEX oracle_usage_day ON oracle_usage (day);
