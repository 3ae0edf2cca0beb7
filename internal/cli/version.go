package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is the program's own version as the build recorded it: a release
// tag, or a pseudo-version with the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	version := info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" {
			version = "devel+" + setting.Value[:min(12, len(setting.Value))]
		}
	}
	return version
}

func versionCommand() command {
	return command{name: "version", summary: "print the version", run: func(_ context.Context, _ []string, s IO) error {
		_, err := fmt.Fprintf(s.Out, "castalia %s (%s, %s/%s)\n", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}}
}
