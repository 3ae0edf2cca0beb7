-- Webhooks that their owners deleted, so that what is left of them is found: deliveries, and
-- what was noted of their health afterwards.
CREATE TABLE webhook_deleted (
  endpoint {{text}} NOT NULL PRIMARY KEY,
  at_ms {{int}} NOT NULL
) {{clustered}};
CREATE INDEX webhook_deleted_at ON webhook_deleted (at_ms);
INSERT INTO webhook_deleted (endpoint, at_ms) SELECT l.endpoint, MAX(l.at_ms)
  FROM (SELECT endpoint, created_ms AS at_ms FROM webhook_deliveries UNION ALL SELECT endpoint, success_ms FROM webhook_health) l
  WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.id = l.endpoint) GROUP BY l.endpoint;
