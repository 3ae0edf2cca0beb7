package filestorehttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/carimport"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

const room = 32 << 20

// counted is a site whose namespaces have so much room, and one place to work.
func counted(t *testing.T, w *filestoretest.World) (*site, http.Handler, *ratelimit.Holdings) {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	holdings := ratelimit.NewHoldings(room, 1)
	if err := server.Mount(filestorehttp.Surface(w.Service, filestorehttp.Deps{
		Folders: w.Folders, Import: carimport.New(w.Service, w.Folders, w.Store), Holdings: holdings,
		Authenticate: identityhttp.Wrap(identitytest.New(t), identity.Files), CORS: contenthttp.CORS("*"),
	})); err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	return &site{t, w, ts.URL}, server, holdings
}

// archiveOf is a CAR of so many files.
func archiveOf(t *testing.T, w *filestoretest.World, n int) string {
	t.Helper()
	for i := range n {
		w.MustPut(t, identitytest.Alice.DID, "/car/"+strconv.Itoa(i), "x")
	}
	e, err := w.DAG.Export(t.Context(), filestore.Owner(identitytest.Alice.DID), "/car")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What costs much waits while the namespace has no room for its answer, or no place to
// work, ends with its request, and holds nothing afterwards.
func TestCostlyAnswersWaitTheirTurn(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	s, _, holdings := counted(t, w)
	f := s.put("/f.txt", "one\ntwo\n")
	archive := archiveOf(t, w, 2)
	ns := identitytest.Alice.DID
	for _, c := range []struct {
		method, target, body, media string
		works                       bool
		status                      int
	}{
		{"GET", "/files/" + f.ID + "/read", "", "", false, 200},
		{"GET", "/glob?pattern=/**", "", "", true, 200},
		{"GET", "/grep?q=one", "", "", true, 200},
		{"GET", "/search?q=one", "", "", true, 200},
		{"PATCH", "/files/" + f.ID + "/edit", `{"oldString":"one","newString":"1","dryRun":true}`, "application/json", true, 200},
		{"POST", "/import?path=/to", archive, "application/vnd.ipld.car", false, 201},
	} {
		waits := func(ctx context.Context) <-chan int {
			status := make(chan int, 1)
			r, err := http.NewRequestWithContext(ctx, c.method, s.url+"/api/fs"+c.target, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+owner(t))
			r.Header.Set("X-Auth-Type", "ucan")
			if c.media != "" {
				r.Header.Set("Content-Type", c.media)
			}
			go func() {
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					status <- 0
					return
				}
				_ = res.Body.Close()
				status <- res.StatusCode
			}()
			for waiting := 0; waiting == 0; runtime.Gosched() {
				if _, waiting = holdings.Of(ns); len(status) > 0 {
					t.Errorf("%s waits for nobody: %d", c.target, <-status)
					break
				}
			}
			return status
		}
		full := holdings.Begin(ns)
		if err := full.Take(t.Context(), room); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		status := waits(ctx)
		cancel()
		if got := <-status; got != 0 {
			t.Errorf("%s answered %d", c.target, got)
		}
		for _, waiting := holdings.Of(ns); waiting > 0; _, waiting = holdings.Of(ns) {
			runtime.Gosched()
		}
		status = waits(t.Context())
		full.Leave()
		if got := <-status; got != c.status {
			t.Errorf("%s answered %d when there was room", c.target, got)
		}
		if c.works {
			done, err := holdings.Begin(ns).Work(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			status = waits(t.Context())
			done()
			if got := <-status; got != c.status {
				t.Errorf("%s answered %d when it could work", c.target, got)
			}
		}
		for held, _ := holdings.Of(ns); held > 0; held, _ = holdings.Of(ns) {
			runtime.Gosched() // the answer is there a little before its end
		}
	}
}

// slow is a client: each write to it is told, and waits.
type slow struct {
	*httptest.ResponseRecorder
	wrote chan int
	read  chan struct{}
}

func (s slow) Write(p []byte) (int, error) {
	s.wrote <- len(p)
	<-s.read
	return s.ResponseRecorder.Write(p)
}

func asOwner(ctx context.Context, t *testing.T, target string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/fs"+target, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+owner(t))
	r.Header.Set("X-Auth-Type", "ucan")
	return r
}

// A window of lines ends before its answer is large, counted as it is written; as long as
// nobody reads it, what it has is counted for the namespace.
func TestAWindowIsCountedAsItIsWritten(t *testing.T) {
	t.Parallel()
	const lines, most = 3000, 4 << 20
	w := filestoretest.Embedded(t)
	s, server, holdings := counted(t, w)
	f := s.put("/f.txt", strings.Repeat(strings.Repeat("\x01", 999)+"\n", lines))
	got := 0
	for offset, windows := 1, 0; ; windows++ {
		a := s.own("GET", fmt.Sprintf("/api/fs/files/%s/read?offset=%d&limit=5000", f.ID, offset), "").want(200)
		l := decode[filestorehttp.LineWindow](a)
		if len(a.body) > most+1000 || l.TotalLines != lines || l.Count == 0 {
			t.Fatalf("%d bytes with %d lines of %d", len(a.body), l.Count, l.TotalLines)
		}
		got, offset = got+strings.Count(l.Text, "\x01\n"), offset+l.Count
		if !l.HasMore {
			break
		}
	}
	if got != lines {
		t.Errorf("%d lines of %d", got, lines)
	}
	client := slow{httptest.NewRecorder(), make(chan int), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.ServeHTTP(client, asOwner(t.Context(), t, "/files/"+f.ID+"/read"))
	}()
	<-client.wrote
	n, _ := strconv.Atoi(client.Header().Get("Content-Length"))
	if held, _ := holdings.Of(identitytest.Alice.DID); n < most/2 || held < int64(n)-1000 || held > most {
		t.Errorf("%d bytes are held of %d", held, n)
	}
	go func() {
		for range client.wrote {
		}
	}()
	close(client.read)
	<-ended
	close(client.wrote)
	if held, _ := holdings.Of(identitytest.Alice.DID); held != 0 {
		t.Errorf("%d bytes are held of nothing", held)
	}
}

// An import says how many files there are, and names the first.
func TestAnImportNamesAPage(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	s, _, _ := counted(t, w)
	for n, more := range map[int]bool{3: false, 1001: true} {
		body := archiveOf(t, w, n)
		a := s.own("POST", fmt.Sprintf("/api/fs/import?path=/to/%d", n), body, "Content-Type: application/vnd.ipld.car").want(201)
		got := decode[filestorehttp.ImportResult](a)
		if got.Count < n || got.More != more || len(got.Files) != min(got.Count, 1000) || got.Bytes != int64(got.Count) {
			t.Errorf("of %d: %d files, %d named, %d bytes, more %v", n, got.Count, len(got.Files), got.Bytes, got.More)
		}
		if strings.Contains(a.body, `"more"`) != more {
			t.Error("a small import has another form")
		}
	}
}

// A stream of changes is written in pieces, however much there is to tell.
func TestAStreamIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	const files, most = 190, 72 << 10
	w := filestoretest.Embedded(t)
	s, server, _ := counted(t, w)
	deep := strings.Repeat("/"+strings.Repeat("d", 200), 4)
	for i := range files {
		s.put(deep+"/"+strconv.Itoa(i), "x")
	}
	client := slow{httptest.NewRecorder(), make(chan int, 1000), make(chan struct{})}
	close(client.read)
	ctx, cancel := context.WithCancel(t.Context())
	r := asOwner(ctx, t, "/changes")
	r.Header.Set("Accept", "text/event-stream")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.ServeHTTP(client, r)
	}()
	for told := 0; told < files*len(deep)+files*100; {
		n := <-client.wrote
		if told += n; n > most {
			t.Errorf("%d bytes at once", n)
		}
	}
	cancel()
	<-ended
	if got := strings.Count(client.Body.String(), "event: change"); got < files-1 {
		t.Errorf("%d changes of %d", got, files)
	}
}
