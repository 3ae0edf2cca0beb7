package callrtc

import (
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// quiet hands the library's warnings to our log as details: what matters is
// logged by the call itself.
type quiet struct{ log *slog.Logger }

// NewLogger implements logging.LoggerFactory.
func (q quiet) NewLogger(scope string) logging.LeveledLogger {
	return leveled{q.log.With(slog.String("scope", scope))}
}

type leveled struct{ log *slog.Logger }

func (leveled) Trace(string)          {}
func (leveled) Tracef(string, ...any) {}
func (leveled) Debug(string)          {}
func (leveled) Debugf(string, ...any) {}
func (leveled) Info(string)           {}
func (leveled) Infof(string, ...any)  {}
func (l leveled) Warn(text string)    { l.say(text) }
func (l leveled) Error(text string)   { l.say(text) }

func (l leveled) Warnf(format string, args ...any) {
	l.say(fmt.Sprintf(format, args...))
}

func (l leveled) Errorf(format string, args ...any) {
	l.say(fmt.Sprintf(format, args...))
}

func (l leveled) say(text string) { l.log.Debug("webrtc", slog.String("said", text)) }
