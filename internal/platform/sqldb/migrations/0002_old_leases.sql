-- Old leases are found by when they were taken, which renewing them does not change.
CREATE INDEX platform_leases_epoch ON platform_leases (epoch);
