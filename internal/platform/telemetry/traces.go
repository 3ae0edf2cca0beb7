package telemetry

// Traces exports spans. A nil *Traces is switched off.
type Traces struct{}
