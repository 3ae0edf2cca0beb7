-- Sums that operators look at, so that a page of pictures reads a row for each day, model
-- and source, and a row for each of those who spent most, however many people ask: a
-- month is the number of its first day. Messages are counted from here on; what was
-- counted before has none.
ALTER TABLE oracle_model_usage ADD COLUMN messages {{int}} NOT NULL DEFAULT 0;
CREATE TABLE oracle_day_usage (
  day         {{int}} NOT NULL,
  model       {{text}} NOT NULL,
  source      {{text}} NOT NULL,
  messages    {{int}} NOT NULL,
  calls       {{int}} NOT NULL,
  failed      {{int}} NOT NULL,
  input       {{int}} NOT NULL,
  cached      {{int}} NOT NULL,
  output      {{int}} NOT NULL,
  reasoning   {{int}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  first_ms    {{int}} NOT NULL,
  firsts      {{int}} NOT NULL,
  PRIMARY KEY (day, model, source)
) {{clustered}};
INSERT INTO oracle_day_usage
  SELECT day, model, source, 0, SUM(calls), SUM(failed), SUM(input), SUM(cached), SUM(output), SUM(reasoning),
    SUM(cost_micros), SUM(first_ms), SUM(firsts) FROM oracle_model_usage GROUP BY day, model, source;
CREATE TABLE oracle_month_usage (
  month       {{int}} NOT NULL,
  owner       {{text}} NOT NULL,
  messages    {{int}} NOT NULL,
  calls       {{int}} NOT NULL,
  tokens      {{int}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  PRIMARY KEY (month, owner)
) {{clustered}};
-- From the number of a day to that of its month's first: years begin with March, so that
-- the odd day is their last.
INSERT INTO oracle_month_usage
  SELECT day - (doy - (153 * ((5 * doy + 2) / 153) + 2) / 5), owner, 0, SUM(calls), SUM(tokens), SUM(cost) FROM (
    SELECT day, owner, calls, tokens, cost, doe - (365 * yoe + yoe / 4 - yoe / 100) AS doy FROM (
      SELECT day, owner, calls, tokens, cost, doe, (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365 AS yoe FROM (
        SELECT day, owner, calls, input + output AS tokens, cost_micros AS cost, (day + 719468) % 146097 AS doe
          FROM oracle_model_usage) a) b) c
  GROUP BY 1, owner;
CREATE INDEX oracle_month_usage_most ON oracle_month_usage (month, cost_micros DESC, tokens DESC, owner);
