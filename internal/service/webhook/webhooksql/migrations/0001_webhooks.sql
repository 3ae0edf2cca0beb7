-- Where owners want to be told. events is a JSON list of what they chose. Only
-- owners, and giving up, change this table: every transaction that reports
-- something reads it.
CREATE TABLE webhook_endpoints (
  id {{text}} NOT NULL PRIMARY KEY,
  owner {{text}} NOT NULL,
  url {{text}} NOT NULL,
  description {{text}} NOT NULL,
  events {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  paused {{int}} NOT NULL,
  disabled_ms {{int}} NOT NULL,
  reason {{text}} NOT NULL
) {{table}};
CREATE INDEX webhook_endpoints_owner ON webhook_endpoints (owner, created_ms);

-- How deliveries fare. failing_ms is 0 while they arrive.
CREATE TABLE webhook_health (
  endpoint {{text}} NOT NULL PRIMARY KEY,
  success_ms {{int}} NOT NULL,
  failing_ms {{int}} NOT NULL
) {{clustered}};

-- Secrets, sealed. until_ms is 0 for the newest, and the end of the others.
CREATE TABLE webhook_secrets (
  endpoint {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  nonce {{text}} NOT NULL,
  sealed {{blob}} NOT NULL,
  until_ms {{int}} NOT NULL,
  PRIMARY KEY (endpoint, created_ms, nonce)
) {{table}};

-- Events that somebody wanted to hear of, as they are sent.
CREATE TABLE webhook_events (
  id {{text}} NOT NULL PRIMARY KEY,
  type {{text}} NOT NULL,
  at_ms {{int}} NOT NULL,
  body {{blob}} NOT NULL
) {{table}};
CREATE INDEX webhook_events_at ON webhook_events (at_ms);

-- Each event at each endpoint, with what its last attempt came to.
CREATE TABLE webhook_deliveries (
  endpoint {{text}} NOT NULL,
  event {{text}} NOT NULL,
  type {{text}} NOT NULL,
  created_ms {{int}} NOT NULL,
  state {{text}} NOT NULL,
  attempts {{int}} NOT NULL,
  tried_ms {{int}} NOT NULL,
  next_ms {{int}} NOT NULL,
  status {{int}} NOT NULL,
  took_ms {{int}} NOT NULL,
  error {{text}} NOT NULL,
  answer {{text}} NOT NULL,
  PRIMARY KEY (endpoint, event)
) {{table}};
CREATE INDEX webhook_deliveries_created ON webhook_deliveries (endpoint, created_ms, event);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_ms);
