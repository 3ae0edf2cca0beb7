package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// build is what the compiler recorded about this program.
type build struct{ version, commit, date string }

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{version: "devel"}
	}
	return buildOf(info)
}

// buildOf reads the version (a release tag, or a pseudo-version), the commit and
// its date.
func buildOf(info *debug.BuildInfo) build {
	b := build{version: info.Main.Version}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.commit = setting.Value[:min(12, len(setting.Value))]
		case "vcs.time":
			b.date = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				b.commit += " with changes"
			}
		}
	}
	if b.version == "" || b.version == "(devel)" {
		b.version = "devel"
		if commit, _, _ := strings.Cut(b.commit, " "); commit != "" {
			b.version += "+" + commit
		}
	}
	return b
}

// Version is the program's own version as the build recorded it.
func Version() string { return readBuild().version }

func versionCommand() command {
	return command{name: "version", summary: "print version, commit and date", run: func(_ context.Context, args []string, s shell.IO) error {
		fs := shell.NewFlags("version", s)
		if err := shell.Parse(fs, args); err != nil {
			return err
		}
		b := readBuild()
		_, err := fmt.Fprintf(s.Out, "castalia %s\ncommit   %s\ndate     %s\nbuilt    %s, %s/%s\n", b.version,
			cmp.Or(b.commit, "unknown"), cmp.Or(b.date, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}}
}
