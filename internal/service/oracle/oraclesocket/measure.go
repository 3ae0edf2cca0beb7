package oraclesocket

// Metrics takes figures for operators; telemetry.Metrics does.
type Metrics interface {
	CounterFunc(name, help string, read func() float64)
	GaugeFunc(name, help string, read func() float64)
}

// Measure shows what the gateway holds.
func (g *Gateway) Measure(m Metrics) {
	m.GaugeFunc("sockets", "Sockets that follow a session on this node.", func() float64 { return float64(g.Stats().Sockets) })
	m.GaugeFunc("socket_rooms", "Sessions with a socket on this node.", func() float64 { return float64(g.Stats().Rooms) })
	m.GaugeFunc("socket_calls", "Calls that wait for a page of this node.", func() float64 { return float64(g.Stats().PendingCalls) })
	m.CounterFunc("socket_opened_total", "Engine.IO handshakes that succeeded.", func() float64 { return float64(g.Stats().Opened) })
	m.CounterFunc("socket_refused_total", "Engine.IO requests that were refused.", func() float64 { return float64(g.Stats().Refused) })
	m.CounterFunc("socket_overflowed_total", "Sockets that were cut because they read too slowly.", func() float64 { return float64(g.Stats().Overflowed) })
}
