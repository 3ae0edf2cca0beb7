package dialectcli_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/cli/dialectcli"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := dialectcli.Run(t.Context(), args, shell.IO{Out: &out, Err: &out})
	return out.String(), err
}

// TestARecordingIsMaskedAndReplays: what a gateway sends is written down without
// number and PIN, and a dialect still reads it.
func TestARecordingIsMaskedAndReplays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := dialectcli.Run(ctx, []string{"record", "--listen", "127.0.0.1:0", "--out", calls}, shell.IO{Out: write, Err: write})
		_ = write.Close()
		ended <- err
	}()
	shown := bufio.NewScanner(read)
	shown.Scan()
	address := regexp.MustCompile(`http://[^;]+`).FindString(shown.Text())
	var told strings.Builder
	for _, text := range []string{"", "2", "2*Ann*48213"} {
		resp, err := http.Get(address + "/?SESSIONID=233443&MSISDN=254726770792&USSDCODE=*2233%23&INPUT=" + text)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), "CON ") {
			t.Fatalf("%q %v", body, err)
		}
		for range 2 {
			shown.Scan()
			told.WriteString(shown.Text())
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	written, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	all := string(written) + told.String()
	if found := ussdtest.Leak(all, "48213"); found != "" {
		t.Errorf("the PIN is told: %s", found)
	}
	for _, secret := range []string{"726770792", "233443", "Ann"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in %s", secret, all)
		}
	}
	shipped, err := run(t, "dialect", "show", "advanta")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(mine, []byte(shipped), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "dialect", "check", mine); err != nil || !strings.Contains(out, "GET /api/ussd/advanta") {
		t.Errorf("%q %v", out, err)
	}
	out, err := run(t, "replay", calls, "--dialect", mine)
	if err != nil || !regexp.MustCompile(`^1 start session=\d{6} phone=\+254\d{9} code=\*2233# text=""\n2 input session=\d{6} phone=\+254\d{9} code=\*2233# text="2"\n3 input .* text="2\*xxx\*\d{5}"\n$`).MatchString(out) {
		t.Errorf("%q %v", out, err)
	}
	// A shipped one needs no file.
	if named, err := run(t, "replay", calls, "--dialect", "advanta"); err != nil || named != out {
		t.Errorf("%q %v", named, err)
	}
	if _, err := run(t, "replay", calls, "--dialect", "nobody"); err == nil || !strings.Contains(err.Error(), "hollatags") {
		t.Errorf("a dialect that is nowhere: %v", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "CON %s", r.URL.Path)
	}))
	t.Cleanup(server.Close)
	if out, err := run(t, "replay", calls, "--dialect", mine, "--server", server.URL); err != nil || strings.Count(out, "CON /api/ussd/advanta") != 3 {
		t.Errorf("%q %v", out, err)
	}
	// A dialect that does not fit says why.
	if err := os.WriteFile(mine, []byte(strings.Replace(shipped, "INPUT", "TEXT", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "replay", calls, "--dialect", mine); err == nil || !strings.Contains(out, "1 refused: TEXT is required exactly once") {
		t.Errorf("%q %v", out, err)
	}
	if _, err := run(t, "dialect", "show", "nobody"); err == nil {
		t.Error("a dialect that is not shipped is shown")
	}
}

// TestARecordingAnswersInADialect: a gateway that wants JSON sends a second input only
// to who answers the first in JSON. A shipped dialect needs no file.
func TestARecordingAnswersInADialect(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := dialectcli.Run(ctx, []string{"record", "--listen", "127.0.0.1:0", "--dialect", "beem"}, shell.IO{Out: write, Err: write})
		_ = write.CloseWithError(err)
		ended <- err
	}()
	shown := bufio.NewScanner(read)
	if !shown.Scan() {
		t.Fatal(<-ended)
	}
	address := regexp.MustCompile(`http://[^;]+`).FindString(shown.Text())
	go func() { _, _ = io.Copy(io.Discard, read) }()
	for command, want := range map[string]string{
		"initiate":  `"command":"continue"`,
		"terminate": `"command":"terminate"`,
	} {
		body := `{"command":"` + command + `","msisdn":"255712345678","operator":"o","session_id":"1","payload":{"request_id":0,"response":"*150*1#"}}`
		resp, err := http.Post(address, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(answer), want) || resp.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s is answered by %q (%v), %v", command, answer, resp.Header, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := run(t, "record", "--listen", "127.0.0.1:0", "--dialect", "nobody"); err == nil || !strings.Contains(err.Error(), "hollatags") {
		t.Errorf("a dialect that is nowhere: %v", err)
	}
}
