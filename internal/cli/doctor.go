package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func doctorCommand() command {
	return command{
		name: "doctor", args: "[--deep] [--repair] [--config FILE] [--set NAME=value]",
		summary: "check stores, keys and content, beside a running server; repairs only when told", run: runDoctor,
	}
}

// beside reads the settings for commands that work on the stores themselves, and says where those are.
func (f *settingFlags) beside(s shell.IO) (config.Settings, *slog.Logger, error) {
	settings, _, err := f.load(s)
	if err != nil {
		return config.Settings{}, nil, err
	}
	_, _ = fmt.Fprintf(s.Err, "Looking at %s.\n", app.Place(settings))
	how := telemetry.Config{Level: settings.Server.LogLevel, Format: settings.Server.LogFormat}
	return settings, telemetry.NewLogger(s.Err, how), nil
}

func runDoctor(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("doctor", s)
	var from settingFlags
	from.register(fs, s)
	deep := fs.Bool("deep", false, "read every object and check it against its CID")
	repair := fs.Bool("repair", false, "mend what can be mended")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	settings, log, err := from.beside(s)
	if err != nil {
		return err
	}
	problems := 0
	err = app.Doctor(ctx, app.Options{Settings: settings, Log: log, Getenv: s.Getenv},
		app.DoctorOptions{Deep: *deep, Repair: *repair}, func(f app.Finding) {
			mark := "ok   "
			if f.Problem {
				mark = "FAULT"
				problems++
			}
			_, _ = fmt.Fprintf(s.Out, "%s  %-12s %s\n", mark, f.Part, f.Text)
			if f.Remedy != "" {
				_, _ = fmt.Fprintf(s.Out, "       %-12s -> %s\n", "", f.Remedy)
			}
		})
	if err != nil {
		return err
	}
	if problems > 0 {
		_, _ = fmt.Fprintf(s.Out, "\n%s found.\n", shell.Count(problems, "problem"))
		return shell.ExitError(1)
	}
	_, err = fmt.Fprint(s.Out, "\nEverything is in order.\n")
	return err
}
