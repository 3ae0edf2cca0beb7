package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// traceFarewell bounds how long a stopping program waits for its collector.
const traceFarewell = 2 * time.Second

// startTraces exports spans when a collector is configured. What is left is
// sent at the end; a collector that is away then does not fail the stop.
func (r *resources) startTraces(ctx context.Context, s *config.Settings, version string) (err error) {
	r.traces, err = telemetry.StartTraces(ctx, telemetry.TraceConfig{
		Endpoint: s.Server.TraceEndpoint.Reveal(), Service: "castalia", Version: version, Node: r.node, Logger: r.log,
	})
	if err != nil {
		return fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	r.closers = append(r.closers, func() error {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFarewell)
		defer cancel()
		if err := r.traces.Shutdown(stop); err != nil {
			r.log.Warn("the last traces were not exported", slog.String("event", "traces.lost"), slog.Any("error", err))
		}
		return nil
	})
	return nil
}
