package shipcli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How `castalia health` is called, and what it is for.
const (
	HealthUsage   = "[--server URL] | --causes [--token TOKEN|--key FILE] [--server URL]"
	HealthSummary = "ask a server whether it should get requests; exit code 1 when not (for health checks)"
)

// healthLimit bounds the wait: a server that takes longer is not well.
const healthLimit = 10 * time.Second

// maxSaid bounds what is read of an answer: more than the whole log that a server remembers.
const maxSaid = 8 << 20

// RunHealth asks /ready, as a balancer would. An image without a shell has no
// other program that could.
func RunHealth(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("health", s)
	desk := shell.NewDesk(fs, s, "")
	why := fs.Bool("causes", false, "say what is wrong and since when, as operators may know")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", fs.Arg(0))
	}
	if *why {
		return tellCauses(ctx, desk, s)
	}
	var said struct {
		Checks map[string]string `json:"checks"`
	}
	status, err := ask(ctx, desk.Server(), "/ready", &said)
	if err != nil {
		return err
	}
	for _, part := range slices.Sorted(maps.Keys(said.Checks)) {
		if _, err := fmt.Fprintf(s.Out, "%-10s %s\n", part, said.Checks[part]); err != nil {
			return err
		}
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s is not ready", desk.Server())
	}
	return nil
}

// ask reads what a server says at a path.
func ask(ctx context.Context, server, path string, into any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxSaid)).Decode(into); err != nil {
		return 0, fmt.Errorf("%s answers %d, but not as Castalia does", server, res.StatusCode)
	}
	return res.StatusCode, nil
}

// tellCauses prints what is wrong with each part of a server.
func tellCauses(ctx context.Context, desk *shell.Desk, s shell.IO) error {
	var said struct {
		OK    bool `json:"ok"`
		Parts []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Causes []struct{ Text, Since string }
		} `json:"parts"`
	}
	if err := desk.Ask(ctx, http.MethodGet, "/operator/health", nil, &said); err != nil {
		return err
	}
	for _, part := range said.Parts {
		if part.OK {
			_, _ = fmt.Fprintf(s.Out, "%-10s ok\n", part.Name)
		}
		for _, c := range part.Causes {
			_, _ = fmt.Fprintf(s.Out, "%-10s %s (since %s)\n", part.Name, c.Text, c.Since)
		}
	}
	if !said.OK {
		return fmt.Errorf("%s is not well", desk.Server())
	}
	return nil
}
