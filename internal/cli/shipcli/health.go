package shipcli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// How `castalia health` is called, and what it is for.
const (
	HealthUsage   = "[--server URL] | --causes [--token TOKEN] [--server URL]"
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
	server := shell.ServerFlag(fs, s)
	why := fs.Bool("causes", false, "say what is wrong and since when, as operators may know")
	token := fs.String("token", s.Getenv("OPERATOR_TOKEN"), "operator `TOKEN`, for --causes (OPERATOR_TOKEN)")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", fs.Arg(0))
	}
	if *why {
		return tellCauses(ctx, *server, *token, s)
	}
	var said struct {
		Checks map[string]string `json:"checks"`
	}
	status, err := ask(ctx, *server, "/ready", "", &said)
	if err != nil {
		return err
	}
	for _, part := range slices.Sorted(maps.Keys(said.Checks)) {
		if _, err := fmt.Fprintf(s.Out, "%-10s %s\n", part, said.Checks[part]); err != nil {
			return err
		}
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s is not ready", *server)
	}
	return nil
}

// ask reads what a server says at a path.
func ask(ctx context.Context, server, path, token string, into any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	res, err := get(ctx, server, path, token)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxSaid)).Decode(into); err != nil {
		return 0, fmt.Errorf("%s answers %d, but not as Castalia does", server, res.StatusCode)
	}
	return res.StatusCode, nil
}

// get asks a server for a path, as an operator where there is a token.
func get(ctx context.Context, server, path, token string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(server, "/")+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultClient.Do(req)
}

// tellCauses prints what is wrong with each part of a server.
func tellCauses(ctx context.Context, server, token string, s shell.IO) error {
	var said struct {
		OK    bool `json:"ok"`
		Parts []struct {
			Name   string `json:"name"`
			OK     bool   `json:"ok"`
			Causes []struct{ Text, Since string }
		} `json:"parts"`
	}
	status, err := ask(ctx, server, "/operator/health", token, &said)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return errNoOperator
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
		return fmt.Errorf("%s is not well", server)
	}
	return nil
}
