package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// cutter is a proxy in front of an oracle that cuts the first streams after a
// few bytes and knows the oracle's DID.
func cutter(t *testing.T, target string, cuts int64) (string, *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	var posts, cut atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/did.json" {
			_, _ = w.Write([]byte(`{"id":"` + identitytest.Oracle.DID + `"}`))
			return
		}
		stream := strings.HasPrefix(r.URL.Path, "/messages/") || strings.HasPrefix(r.URL.Path, "/runs/")
		if r.Method == http.MethodPost && stream {
			posts.Add(1)
		}
		if stream && cut.Add(1) <= cuts {
			w = &short{ResponseWriter: w, left: 700}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL, &posts
}

// short breaks after some bytes.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	if len(p) <= s.left {
		s.left -= len(p)
		return s.ResponseWriter.Write(p)
	}
	_, _ = s.ResponseWriter.Write(p[:s.left]) // however much comes at once
	s.Flush()
	panic(http.ErrAbortHandler)
}

func (s *short) Flush() { s.ResponseWriter.(http.Flusher).Flush() }

func TestChat(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("Once ", "upon ", "a ", "time.\x1b[2J"), scripted.Text("The end.")))
	server, posts := cutter(t, n.URL, 2)
	key := filepath.Join(t.TempDir(), "key")
	if _, errs, code := run(t, nil, "key", "new", "--out", key); code != 0 {
		t.Fatal(errs)
	}
	var out, errs bytes.Buffer
	code := cli.Run(t.Context(), []string{"chat", "--server", server, "--key", key}, cli.IO{
		In: strings.NewReader("tell me\n\nand then?\n"), Out: &out, Err: &errs,
	})
	if code != 0 || out.String() != "Once upon a time.[2J\nThe end.\n" {
		t.Fatalf("exit %d: %q\n%s", code, out.String(), errs.String())
	}
	if posts.Load() != 2 {
		t.Errorf("%d messages were sent", posts.Load())
	}
	session := strings.Fields(errs.String())[1]
	text, _, code := run(t, nil, "chat", "--server", server, "--key", key, "--message", "again", strings.TrimSuffix(session, "."))
	if code != 0 || !strings.HasPrefix(text, "> tell me\nOnce upon a time.[2J\n> and then?\nThe end.\n") {
		t.Errorf("exit %d: %q", code, text)
	}
	if _, errs, code := run(t, nil, "chat", "--server", server, "--key", filepath.Join(t.TempDir(), "none")); code != 1 ||
		!strings.Contains(errs, "castalia key new") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if _, errs, code := run(t, nil, "chat", "--server", server, "--key", key, "nobody"); code != 1 ||
		!strings.Contains(errs, "Session not found") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A newcomer who has no key gets one, once; whoever names a file that is not there
// is told so.
func TestChatMakesTheFirstKey(t *testing.T) {
	t.Chdir(t.TempDir())
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("Hello."), scripted.Text("Again.")))
	server, _ := cutter(t, n.URL, 0)
	out, errs, code := run(t, nil, "chat", "--server", server, "--message", "hi")
	if code != 0 || out != "Hello.\n" || !strings.Contains(errs, "castalia.key") {
		t.Fatalf("exit %d: %q %s", code, out, errs)
	}
	before, err := os.ReadFile("castalia.key")
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, nil, "chat", "--server", server, "--message", "hi again"); code != 0 || errs != "" {
		t.Errorf("exit %d: %s", code, errs)
	}
	if after, err := os.ReadFile("castalia.key"); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the key was written again: %v", err)
	}
	if _, errs, code := run(t, []string{"CASTALIA_KEY=mine.key"}, "chat", "--server", server); code != 1 ||
		!strings.Contains(errs, "castalia key new --out mine.key") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
