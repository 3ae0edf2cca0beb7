package ratelimit

// Metrics takes figures for operators; telemetry.Metrics does.
type Metrics interface {
	CounterFunc(name, help string, read func() float64)
	GaugeFunc(name, help string, read func() float64)
}

// Measure shows what limits and the gate refused. A limiter that is nil has nothing
// to show.
func Measure(m Metrics, gate *Gate, limiters ...*Limiter) {
	for _, limiter := range limiters {
		if limiter == nil {
			continue
		}
		m.CounterFunc("rate_limit_"+limiter.Name()+"_refused_total", "Requests refused by this limit.",
			func() float64 { return float64(limiter.Stats().Refused) })
		m.GaugeFunc("rate_limit_"+limiter.Name()+"_keys", "Keys that this limit remembers.",
			func() float64 { return float64(limiter.Stats().Keys) })
	}
	m.CounterFunc("verify_gate_queued_total", "Unknown tokens that had to wait to be verified.", func() float64 { return float64(gate.Stats().Queued) })
	m.CounterFunc("verify_gate_refused_total", "Unknown tokens that waited too long to be verified.", func() float64 { return float64(gate.Stats().Refused) })
	m.GaugeFunc("verify_gate_waiting", "Unknown tokens that wait to be verified.", func() float64 { return float64(gate.Stats().Waiting) })
	m.GaugeFunc("verify_gate_networks", "Client networks whose time of verification is remembered.", func() float64 { return float64(gate.Stats().Networks) })
}
