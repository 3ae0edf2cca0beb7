-- What models were asked and what it cost. Days are numbered from 1970, in UTC;
-- tokens of input include cached ones, those of output reasoning.
CREATE TABLE oracle_model_usage (
  day         {{int}} NOT NULL,
  owner       {{text}} NOT NULL,
  model       {{text}} NOT NULL,
  source      {{text}} NOT NULL,
  calls       {{int}} NOT NULL,
  failed      {{int}} NOT NULL,
  input       {{int}} NOT NULL,
  cached      {{int}} NOT NULL,
  output      {{int}} NOT NULL,
  reasoning   {{int}} NOT NULL,
  cost_micros {{int}} NOT NULL,
  first_ms    {{int}} NOT NULL,
  firsts      {{int}} NOT NULL,
  PRIMARY KEY (day, owner, model, source)
) {{clustered}};
CREATE INDEX oracle_model_usage_owner ON oracle_model_usage (owner, day);
