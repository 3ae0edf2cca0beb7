package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/test/testenv"
)

// Work ends with its request. cancelrows_test.go says of every route whether it
// can run long, and how to make it; a route that is not written down there fails
// TestEveryRouteSaysHowLongItRuns.

// afterwards is how many units of work may follow the end of a request: the one
// under way, and what puts in order what was begun. A write is several units.
const afterwards = 5

// labour counts units of work: trips to the database, reads of objects and of the
// request's body.
type labour struct {
	units atomic.Int64
	at    atomic.Int64 // the unit at which the request ends; 0 is none
	end   atomic.Pointer[context.CancelFunc]
}

func (l *labour) unit() {
	if l.units.Add(1) == l.at.Load() {
		(*l.end.Load())()
	}
}

// measure counts the units of do, whose context ends at one of them.
func (l *labour) measure(t *testing.T, at int64, do func(context.Context)) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.end.Store(&cancel)
	l.units.Store(0)
	l.at.Store(at)
	do(ctx)
	l.at.Store(0)
	return l.units.Load()
}

// laboured is a body whose reading is work. It breaks off when the client leaves.
type laboured struct {
	io.Reader
	ctx context.Context // the request's
	of  *labour
}

func (r laboured) Read(p []byte) (int, error) {
	r.of.unit()
	if r.ctx.Err() != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return r.Reader.Read(p[:min(len(p), 64<<10)])
}

// workerless is the program without its workers, so that all work is a request's.
func workerless(t *testing.T, l *labour, set ...string) *world {
	t.Helper()
	return build(t, func(o *Options) {
		o.fault = func(sqldb.Stage) error { l.unit(); return nil }
		o.objects = func(s blob.Store) blob.Store {
			faulty := blobtest.NewFaulty(s)
			plan := blobtest.Healthy()
			plan.Reading = func(context.Context) { l.unit() }
			faulty.Set(plan)
			return faulty
		}
	}, set...)
}

func TestEveryRouteSaysHowLongItRuns(t *testing.T) {
	t.Parallel()
	w := build(t, nil)
	var served, written []string
	for _, r := range w.Routes() {
		served = append(served, r.Method+" "+r.Pattern)
	}
	for _, sf := range w.server.Surfaces() {
		if sf.Dynamic != nil {
			served = append(served, sf.Dynamic.Route.Method+" "+sf.Dynamic.Route.Pattern)
		}
	}
	written = append(written, briefRoutes...)
	for route := range routesTestedElsewhere {
		written = append(written, route)
	}
	for _, r := range longRows {
		written = append(written, r.route)
	}
	slices.Sort(served)
	slices.Sort(written)
	if diff := cmp.Diff(slices.Compact(written), slices.Compact(served)); diff != "" {
		t.Errorf("how long a route can run (- written in cancelrows_test.go, + served):\n%s", diff)
	}
	for route, test := range routesTestedElsewhere {
		file, name, _ := strings.Cut(test, " ")
		source, err := os.ReadFile("../../" + file)
		if err != nil || !strings.Contains(string(source), "func "+name+"(") {
			t.Errorf("%s is said to be tested by %s, which is not there: %v", route, test, err)
		}
	}
}

// Every route that can run long does next to nothing after its request has ended,
// in both shapes.
func TestWorkEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		endsWithItsRequest(t)
	})
	t.Run("fleet", func(t *testing.T) {
		t.Parallel()
		bucket, key := testenv.S3(t), strings.Repeat("0a", 32)
		endsWithItsRequest(t, "ORACLE_KEY", key, "PIN_ENCRYPTION_KEY", key, "FILES_MASTER_KEY", key,
			"DATABASE_URL", testenv.Postgres(t), "NATS_URL", testenv.NATS(t),
			"BLOB_URL", bucket.URL(), "AWS_ACCESS_KEY_ID", bucket.AccessKey, "AWS_SECRET_ACCESS_KEY", bucket.SecretKey)
	})
}

func endsWithItsRequest(t *testing.T, set ...string) {
	t.Helper()
	var l labour
	w := workerless(t, &l, set...)
	for _, row := range longRows {
		t.Run(strings.ReplaceAll(row.route, "/", "_")+" "+row.name, func(t *testing.T) {
			send := func(at int64) (int64, *httptest.ResponseRecorder) {
				r := row.make(t, w)
				var got *httptest.ResponseRecorder
				units := l.measure(t, at, func(ctx context.Context) { got = w.long(ctx, t, &l, r) })
				return units, got
			}
			whole, got := send(0)
			if got.Code >= http.StatusMultipleChoices {
				t.Fatalf("%d %.300s", got.Code, got.Body)
			}
			if whole < row.least {
				t.Fatalf("the whole work is %d units, too little to see that it ends; want %d", whole, row.least)
			}
			at := max(whole/3, 1)
			if n, _ := send(at); n > at+max(row.tidy, afterwards) {
				t.Errorf("%d units of work after the end at %d, of %d in all", n-at, at, whole)
			}
		})
	}
}

// long sends a request whose body is work too. A handler that breaks its answer
// off, because the client left, has ended.
func (w *world) long(ctx context.Context, t *testing.T, l *labour, r request) *httptest.ResponseRecorder {
	t.Helper()
	q := httptest.NewRequestWithContext(ctx, r.method, r.target, nil)
	if r.body != "" {
		q.Body, q.ContentLength = io.NopCloser(laboured{strings.NewReader(r.body), ctx, l}), int64(len(r.body))
	}
	q.RemoteAddr, q.Host = fmt.Sprintf("203.0.%d.1:4000", w.seen.Add(1)&255), "castalia.example"
	for i := 0; i < len(r.header); i += 2 {
		q.Header.Set(r.header[i], r.header[i+1])
	}
	got := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http does
			panic(p)
		}
	}()
	w.server.ServeHTTP(got, q)
	return got
}

// rpcCall is a call of a tool as clients of older protocols make it.
func rpcCall(tool string, args map[string]any) string {
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		return err.Error() // arguments are literals
	}
	return string(b)
}

// leaving ends a request at the first word of the answer.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaving) Write(p []byte) (int, error) {
	defer l.leave()
	return l.ResponseRecorder.Write(p)
}

func TestAFollowerOfChangesLeaves(t *testing.T) {
	t.Parallel()
	var l labour
	w := workerless(t, &l)
	w.file(t)
	r := w.owners(http.MethodGet, "/api/fs/changes", "", "Accept", "text/event-stream")
	ctx, leave := context.WithCancel(t.Context())
	q := httptest.NewRequestWithContext(ctx, r.method, r.target, nil)
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set(r.header[0], r.header[1])
	var left atomic.Int64
	got := leaving{httptest.NewRecorder(), func() { left.CompareAndSwap(0, l.units.Load()); leave() }}
	w.server.ServeHTTP(got, q)
	if n := l.units.Load() - left.Load(); left.Load() == 0 || n > afterwards {
		t.Errorf("%d units of work after the reader left at %d: %d %.200s", n, left.Load(), got.Code, got.Body)
	}
	ended := l.units.Load()
	w.file(t) // which a follower would be told
	if n := l.units.Load(); n == ended {
		t.Error("no work was counted")
	}
}

func TestAProfileEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	w := build(t, nil)
	for _, kind := range []string{"cpu", "trace"} {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/debug/profile/"+kind+"?seconds=60", nil)
		q.RemoteAddr, q.Host = "127.0.0.1:4000", "localhost:3000"
		// The test would take a minute if it did not end.
		w.server.ServeHTTP(httptest.NewRecorder(), q)
	}
}
