package system_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/test/system"
)

var davKey = regexp.MustCompile(`cak_[a-z2-7]{40}`)

// davFiles is a program that has an app key for files.
type davFiles struct {
	t   *testing.T
	key string
}

func newDavFiles(t *testing.T, n *system.Node) davFiles {
	t.Helper()
	mine := filepath.Join(t.TempDir(), "mine.key")
	env := []string{"CASTALIA_URL=" + n.URL, "CASTALIA_KEY=" + mine}
	for _, args := range [][]string{{"key", "new", "--out", mine}, {"key", "app", "--for", "dav", "--can", "files:write", "--days", "1"}} {
		text, code := system.Run(t, env, args...)
		if code != 0 {
			t.Fatalf("castalia %v: %d %s", args, code, text)
		}
		if key := davKey.FindString(text); key != "" {
			return davFiles{t, key}
		}
	}
	t.Fatal("no app key was made")
	return davFiles{}
}

func (d davFiles) do(n *system.Node, method, path, body string, header ...string) (system.Reply, error) {
	d.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + d.key}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return n.Try(d.t.Context(), system.Call{Method: method, Path: path, Body: body, Header: h})
}

// Killed at any point while a program writes by WebDAV, what was acknowledged is
// there and nothing is there by half: neither a file nor a folder that moves.
func TestKilledWhileWritingByWebDAV(t *testing.T) {
	t.Parallel()
	points := 5
	if os.Getenv("CASTALIA_LONG") != "" {
		points = 50
	}
	system.Each(t, func(t *testing.T, w *system.World) {
		n := w.Node(0)
		d := newDavFiles(t, n)
		must := func(status int, method, path, body string, header ...string) system.Reply {
			t.Helper()
			got, err := d.do(w.Node(1), method, path, body, header...)
			if err != nil || got.Status != status {
				t.Fatalf("%s %s: %d %s, %v", method, path, got.Status, got.Body, err)
			}
			return got
		}
		must(201, "MKCOL", "/dav/a", "")
		for i := range 20 {
			must(201, "PUT", fmt.Sprintf("/dav/a/%02d", i), fmt.Sprint("content ", i))
		}
		must(201, "PUT", "/dav/f", "first")
		last, folder := "first", "a"
		for i := range points {
			data := string(randomBytes(2<<20+i, byte(i)))
			body := &killing{r: strings.NewReader(data), at: rand.Int64N(int64(len(data)) + 200_000), kill: n.Kill}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, n.URL+"/dav/f", body)
			if err != nil {
				t.Fatal(err)
			}
			request.ContentLength = int64(len(data))
			request.SetBasicAuth("x", d.key)
			answer, putErr := w.Client.Do(request)
			stored := putErr == nil && answer.StatusCode == http.StatusNoContent
			if putErr == nil {
				_ = answer.Body.Close()
			}
			body.once(n.Kill)
			n.Start()
			n.WaitReady()
			got := string(must(200, "GET", "/dav/f", "").Body)
			if got != data && (got != last || stored) {
				t.Fatalf("point %d: acknowledged is %t, and there are %d bytes", i, stored, len(got))
			}
			last = got

			// A folder is in one place, whole, whenever the node ends.
			to := "b"
			if folder == "b" {
				to = "a"
			}
			moved := make(chan bool)
			go func() {
				got, err := d.do(n, "MOVE", "/dav/"+folder, "", "Destination", "/dav/"+to)
				moved <- err == nil && got.Status == http.StatusCreated
			}()
			n.Kill()
			told := <-moved
			n.Start()
			n.WaitReady()
			listed := map[string]int{}
			for _, name := range []string{folder, to} {
				if got, err := d.do(w.Node(1), "PROPFIND", "/dav/"+name, "", "Depth", "1"); err == nil && got.Status == http.StatusMultiStatus {
					listed[name] = bytes.Count(got.Body, []byte("<D:response>"))
				}
			}
			switch {
			case listed[to] == 21 && listed[folder] == 0:
				folder = to
			case listed[folder] == 21 && listed[to] == 0 && !told:
			default:
				t.Fatalf("point %d: told %t, and there are %v", i, told, listed)
			}
		}
		wholeAfter(t, w)
	})
}
