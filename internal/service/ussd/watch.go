package ussd

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"
)

// watchEvery is how soon a changed menu file is seen.
const watchEvery = time.Second

// WatchMenu reads the menu file again whenever it changes, until ctx ends. A
// good menu serves the sessions that begin from then on; a bad one is refused
// with its file and line in the log, and the last good one stays.
func (s *Service) WatchMenu(ctx context.Context, file string) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := s.Menu().Source()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		source, err := os.ReadFile(file)
		if err != nil {
			if last != nil {
				s.cfg.Logger.WarnContext(ctx, "menu file cannot be read; the last good menu stays", slog.Any("error", err))
			}
			last = nil
			continue
		}
		if last != nil && bytes.Equal(source, last) {
			continue
		}
		last = source
		m, err := ParseMenu(file, source, s.cfg.Limits.Least())
		if err != nil {
			s.cfg.Logger.ErrorContext(ctx, "menu refused; the last good menu stays", slog.Any("error", err))
			continue
		}
		if m.Version() != s.Menu().Version() {
			s.Reload(m)
			s.cfg.Logger.InfoContext(ctx, "menu reloaded", slog.String("file", file), slog.String("version", m.Version()))
		}
	}
}
