package cli

import (
	"runtime/debug"
	"testing"
)

func TestWhatTheBuildRecorded(t *testing.T) {
	t.Parallel()
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.time", Value: "2026-11-15T10:00:00Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want build
	}{
		"release": {debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: vcs("false")}, build{"v0.1.0", "0123456789ab", "2026-11-15T10:00:00Z"}},
		"changed": {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("true")}, build{"devel+0123456789ab", "0123456789ab with changes", "2026-11-15T10:00:00Z"}},
		"nothing": {debug.BuildInfo{}, build{version: "devel"}},
	} {
		if got := buildOf(&c.info); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
