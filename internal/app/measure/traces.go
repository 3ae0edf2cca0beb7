package measure

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

// Traces exports spans when a collector is configured. What is left is sent by what it adds
// to closers; a collector that is away then does not fail the stop.
func Traces(ctx context.Context, collector config.URL, version, node string, log *slog.Logger,
	closers *[]func() error,
) (*telemetry.Traces, error) {
	traces, err := telemetry.StartTraces(ctx, telemetry.TraceConfig{
		Endpoint: collector.Reveal(), Service: "castalia", Version: version, Node: node, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	*closers = append(*closers, func() error {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFarewell)
		defer cancel()
		if err := traces.Shutdown(stop); err != nil {
			log.Warn("the last traces were not exported", slog.String("event", "traces.lost"), slog.Any("error", err))
		}
		return nil
	})
	return traces, nil
}
