package oraclehttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// Published clients have ids of Matrix events for sessions, and send them as
// they are or percent-encoded.
func TestSessionIDsRawOrEncoded(t *testing.T) {
	t.Parallel()
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	now := time.Now()
	for _, id := range []string{"$raw:example.org", "$coded:example.org"} {
		must(t,
			oraclesql.New(db).CreateSession(t.Context(),
				oracle.Session{ID: id, Owner: identitytest.Alice.DID, Title: "x", CreatedAt: now, UpdatedAt: now}))
	}
	alice := oracletest.Start(t, nil, func(d *oraclekit.Deps) { d.DB = db }).As(t, identitytest.Alice)
	for _, id := range []string{"$raw:example.org", "%24coded%3Aexample.org"} {
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/messages/" + id, map[string]any{"message": "hi"}},
			{"GET", "/messages/" + id, nil},
			{"GET", "/sessions/" + id + "/messages", nil},
			{"GET", "/sessions/" + id + "/run", nil},
			{"DELETE", "/sessions/" + id, nil},
		} {
			if r := alice.Do(c.method, c.path, c.body); r.Status != http.StatusOK {
				t.Errorf("%s %s: %d %s", c.method, c.path, r.Status, r.Body)
			}
		}
		r := alice.Do("GET", "/messages/"+id, nil)
		var refused struct{ StatusCode int }
		if r.JSON(t, &refused); r.Status != http.StatusNotFound || refused.StatusCode != http.StatusNotFound {
			t.Errorf("after its end %s: %d %s", id, r.Status, r.Body)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	provider := scripted.Sequence(scripted.Text("ok"))
	alice := oracletest.Start(t, provider).As(t, identitytest.Alice)
	session := alice.Session()
	long := strings.Repeat("ñ", 300<<10) // 600 KiB
	if r := alice.Do("POST", "/messages/"+session, map[string]any{"message": long}); r.Status != http.StatusOK {
		t.Errorf("600 KiB: %d %.200s", r.Status, r.Body)
	}
	asked := provider.Requests()[0].Messages
	if got := asked[len(asked)-1].Text; got != long {
		t.Errorf("the model got %d bytes", len(got))
	}
	r := alice.Do("POST", "/messages/"+session, map[string]any{"message": long + long})
	var refused struct{ StatusCode int }
	if r.JSON(t, &refused); r.Status != http.StatusRequestEntityTooLarge || refused.StatusCode != r.Status {
		t.Errorf("1.2 MiB: %d %s", r.Status, r.Body)
	}
}

func TestASilentStreamBeats(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	provider := scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "so"}}, Wait: hold})
	alice := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Heartbeat = 10 * time.Millisecond
	}).As(t, identitytest.Alice)
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+alice.Session(), map[string]any{"message": "hi", "stream": true})
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	beats, ended := 0, false
	for lines.Scan() {
		if lines.Text() == ": heartbeat" {
			if beats++; beats == 3 {
				close(hold)
			}
		}
		ended = ended || lines.Text() == "event: done"
	}
	if beats < 3 || !ended {
		t.Errorf("%d beats, ended %v", beats, ended)
	}
}

// Whoever joins a run that is silent is answered at once.
func TestASilentRunIsJoinedAtOnce(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	provider := scripted.Sequence(scripted.Reply{Chunks: []plugin.Chunk{{Text: "so"}}, Wait: hold})
	alice := oracletest.Start(t, provider, func(d *oraclekit.Deps) {
		d.Heartbeat = time.Hour
	}).As(t, identitytest.Alice)
	resp, err := alice.Open(t.Context(), "POST", "/messages/"+alice.Session(), map[string]any{"message": "hi", "stream": true})
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	joined, err := alice.Open(ctx, "GET", "/runs/"+resp.Header.Get("X-Run-Id")+"?after=1000", nil) //nolint:bodyclose // Stream does
	must(t, err)
	close(hold)
	if frames := oracletest.Stream(t, joined); len(frames) != 0 {
		t.Errorf("frames below 1000 came again: %v", oracletest.Events(frames))
	}
}

// A reader that takes nothing keeps nobody from anything: the run ends, others
// read it, and the reader finds all of it when it looks.
func TestASlowReaderSlowsNobody(t *testing.T) {
	t.Parallel()
	// 6 MB: no buffer takes that
	reply := scripted.Reply{Chunks: slices.Repeat([]plugin.Chunk{{Text: strings.Repeat("x", 64<<10)}}, 100)}
	alice := oracletest.Start(t, scripted.Sequence(reply)).As(t, identitytest.Alice)
	session := alice.Session()
	slow, err := alice.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "hi", "stream": true})
	must(t, err)
	defer func() { _ = slow.Body.Close() }()
	quick, err := alice.Open(t.Context(), "GET", "/runs/"+slow.Header.Get("X-Run-Id"), nil) //nolint:bodyclose // Stream does
	must(t, err)
	want := oracletest.Stream(t, quick)
	if n := len(want); n < 100 || want[n-1].Event != oracle.FrameDone {
		t.Fatalf("the quick reader saw %d frames", n)
	}
	got := oracletest.Stream(t, slow)
	for len(got) > 0 && got[len(got)-1].Event != oracle.FrameDone { // it was too slow for its connection, and resumes
		//nolint:bodyclose // Stream does
		rest, err := alice.Open(t.Context(), "GET", fmt.Sprintf("/runs/%s?after=%d", slow.Header.Get("X-Run-Id"), got[len(got)-1].Seq), nil)
		must(t, err)
		got = append(got, oracletest.Stream(t, rest)...)
	}
	same := func(a, b oracle.Frame) bool {
		return a.Seq == b.Seq && a.Event == b.Event && bytes.Equal(a.Data, b.Data)
	}
	if !slices.EqualFunc(want, got, same) {
		t.Errorf("the slow reader saw %d frames, the quick one %d", len(got), len(want))
	}
}

func TestModelsArePublic(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil)
	resp, err := http.Get(n.URL + "/models")
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	var got struct {
		Models  []map[string]any
		Default string
	}
	must(t, json.NewDecoder(resp.Body).Decode(&got))
	if resp.StatusCode != http.StatusOK || got.Default != "scripted" || got.Models[0]["isDefault"] != true {
		t.Errorf("models: %+v", got)
	}
}
