package queryhttp_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// answers makes a node's answer function of a simple one.
type answers func(ctx context.Context, call querytest.Call) (querytest.Answer, error)

func chainNode(t *testing.T, height int64, answer answers) *querytest.Node {
	t.Helper()
	return querytest.StartNode(t, querytest.NodeConfig{Files: querytest.ChainFiles(t), Height: height, Answer: answer})
}

// TestKilledNode serves what it has for a while, says 503 for the rest, and
// comes back by itself.
func TestKilledNode(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	l.handler = serve(t, query.New([]query.Chain{l.pool}, query.Config{HeadTrust: 100 * time.Millisecond}),
		queryhttp.Options{})
	addr := l.node.Addr
	if got := get(t, l.handler, "/ixo/token/params"); got.Status != http.StatusOK {
		t.Fatalf("before: %d", got.Status)
	}
	l.node.Stop()
	var stale reply
	querytest.WaitFor(t, "the head to be old", func() bool {
		stale = get(t, l.handler, "/ixo/token/params")
		return stale.Header.Get("X-Cache") != "HIT"
	})
	wantHeaders(t, stale, "X-Cache", "STALE", "Cache-Control", "no-cache")
	if stale.Status != http.StatusOK {
		t.Errorf("kept reply: %d %s", stale.Status, stale.Body)
	}
	cold := get(t, l.handler, "/ixo/claims/claims")
	if cold.Status != http.StatusServiceUnavailable || cold.Header.Get("Retry-After") == "" || strings.Contains(cold.Body, addr) {
		t.Errorf("cold: %d %s", cold.Status, cold.Body)
	}
	querytest.WaitFor(t, "the node to count as down", func() bool { return l.pool.Ready() != nil })
	l.node.Start(t, addr)
	querytest.WaitFor(t, "the node to be back", func() bool {
		return get(t, l.handler, "/ixo/claims/claims").Status == http.StatusOK
	})
}

// TestNodeThatWasNeverReached is an outage, not an unknown path.
func TestNodeThatWasNeverReached(t *testing.T) {
	t.Parallel()
	pool, err := upstream.New(t.Context(), upstream.Config{Name: "main", Targets: []upstream.Target{{Address: "127.0.0.1:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	g := query.New([]query.Chain{pool}, query.Config{Prefixes: []query.Prefix{{Old: "ixo", New: "impacts"}}})
	got := get(t, serve(t, g, queryhttp.Options{}), "/impacts/token/params")
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !strings.Contains(got.Body, `"code":14`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if g.Ready() == nil {
		t.Error("ready without a node")
	}
}

// TestStaleRepliesEnd keeps a reply only for so long when no node answers.
func TestStaleRepliesEnd(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	h := serve(t, query.New([]query.Chain{l.pool}, query.Config{HeadTrust: time.Millisecond, StaleFor: time.Millisecond}),
		queryhttp.Options{})
	if got := get(t, h, "/ixo/token/params"); got.Status != http.StatusOK {
		t.Fatalf("before: %d", got.Status)
	}
	l.node.Stop()
	querytest.WaitFor(t, "the reply to be too old", func() bool {
		return get(t, h, "/ixo/token/params").Status == http.StatusServiceUnavailable
	})
}

// TestRediscoveryOnReconnect asks a node that comes back what it serves now,
// long before the timer would.
func TestRediscoveryOnReconnect(t *testing.T) {
	t.Parallel()
	node := chainNode(t, 5, nil)
	pool := querytest.StartPool(t, upstream.Config{Rediscover: time.Hour}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	if got := get(t, h, "/ixo/claims/claims"); got.Status != http.StatusOK {
		t.Fatalf("before: %d", got.Status)
	}
	node.Stop()
	querytest.WaitFor(t, "the node to count as down", func() bool { return pool.Ready() != nil })
	node.SetFiles(t, slices.DeleteFunc(querytest.ChainFiles(t), func(f *descriptorpb.FileDescriptorProto) bool {
		return strings.Contains(f.GetName(), "claims")
	}))
	node.Start(t, node.Addr)
	querytest.WaitFor(t, "the new table", func() bool { return get(t, h, "/ixo/claims/claims").Status == http.StatusNotFound })
	if got := get(t, h, "/ixo/token/params"); got.Status != http.StatusOK {
		t.Errorf("what is still there: %d %s", got.Status, got.Body)
	}
}

func TestSlowNode(t *testing.T) {
	t.Parallel()
	node := chainNode(t, 5, func(ctx context.Context, _ querytest.Call) (querytest.Answer, error) {
		<-ctx.Done()
		return querytest.Answer{}, ctx.Err()
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	for _, target := range []string{"/ixo/claims/claims", "/cosmos/base/tendermint/v1beta1/blocks/latest"} {
		if got := get(t, h, target, "Grpc-Timeout", "50m"); got.Status != http.StatusGatewayTimeout {
			t.Errorf("%s: %d %s", target, got.Status, got.Body)
		}
	}
}

// TestLyingNode answers for another height than the one that was asked for.
func TestLyingNode(t *testing.T) {
	t.Parallel()
	liar := func(context.Context, querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Height: 77}, nil
	}
	honest := func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Height: call.Height}, nil
	}
	alone := querytest.StartPool(t, upstream.Config{}, chainNode(t, 100, liar))
	h := serve(t, query.New([]query.Chain{alone}, query.Config{}), queryhttp.Options{})
	if got := get(t, h, "/ixo/claims/claims?height=90"); got.Status != http.StatusBadGateway {
		t.Errorf("alone: %d %s", got.Status, got.Body)
	}
	both := querytest.StartPool(t, upstream.Config{}, chainNode(t, 100, liar), chainNode(t, 100, honest))
	h = serve(t, query.New([]query.Chain{both}, query.Config{}), queryhttp.Options{})
	for _, height := range []string{"90", "91", "92"} {
		got := get(t, h, "/ixo/claims/claims?height="+height)
		wantHeaders(t, got, "X-Cosmos-Block-Height", height)
		if got.Status != http.StatusOK {
			t.Errorf("with an honest node: %d %s", got.Status, got.Body)
		}
	}
}

// TestHeightsThatNobodyHas do not keep a reply for longer than until the next
// block: a node says of the newest state that it is of the far future, and a
// chain begins anew at a lower height.
func TestHeightsThatNobodyHas(t *testing.T) {
	t.Parallel()
	var says atomic.Int64
	node := chainNode(t, 100, func(context.Context, querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Height: says.Load()}, nil
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	ask := func(height int64, want string) {
		t.Helper()
		node.SetHeight(height)
		querytest.WaitFor(t, "the height", func() bool { return pool.Head().Height == height })
		wantHeaders(t, get(t, h, "/ixo/claims/claims"), "X-Cache", want)
	}
	says.Store(1 << 40)
	ask(100, "MISS")
	ask(100, "HIT")
	ask(101, "MISS")
	says.Store(102) // a node is a block ahead of what its last probe said
	ask(102, "MISS")
	says.Store(104)
	ask(103, "MISS")
	ask(104, "HIT")
	says.Store(5)
	ask(5, "MISS")
	ask(5, "HIT")
}

// TestHugeReply is refused without being kept: 64 MiB where 16 are allowed.
func TestHugeReply(t *testing.T) {
	t.Parallel()
	huge := protowire.AppendBytes(protowire.AppendTag(nil, 15, protowire.BytesType), make([]byte, 64<<20))
	node := chainNode(t, 5, func(context.Context, querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Wire: huge, Height: 5}, nil
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	got := get(t, h, "/ixo/claims/claims")
	if got.Status != http.StatusBadGateway || !strings.Contains(got.Body, "smaller page") {
		t.Errorf("%d %.200s", got.Status, got.Body)
	}
	// A small reply that grows when it is written is refused as well.
	var many []byte
	for range 100000 {
		many = append(many, 0x0a, 0)
	}
	swollen := chainNode(t, 5, func(context.Context, querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Wire: many, Height: 5}, nil
	})
	pool = querytest.StartPool(t, upstream.Config{}, swollen)
	h = serve(t, query.New([]query.Chain{pool}, query.Config{MaxJSON: 1 << 20}), queryhttp.Options{})
	if got := get(t, h, "/ixo/claims/claims"); got.Status != http.StatusBadGateway {
		t.Errorf("swollen: %d %.200s", got.Status, got.Body)
	}
}

func TestNonsenseFromANode(t *testing.T) {
	t.Parallel()
	node := chainNode(t, 5, func(context.Context, querytest.Call) (querytest.Answer, error) {
		return querytest.Answer{Wire: []byte("\x0a\xff nonsense"), Height: 5}, nil
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	if got := get(t, h, "/ixo/claims/claims"); got.Status != http.StatusBadGateway {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestDescriptorsChangeInFlight swaps the route table under a request that is
// under way: it ends as it began, and the next one sees the new table.
func TestDescriptorsChangeInFlight(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	node := chainNode(t, 5, func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
		if call.Method == claimList && once.CompareAndSwap(false, true) {
			close(entered)
			<-release
		}
		return querytest.Answer{Height: 5}, nil
	})
	pool := querytest.StartPool(t, upstream.Config{Rediscover: 20 * time.Millisecond}, node)
	g := query.New([]query.Chain{pool}, query.Config{})
	h := serve(t, g, queryhttp.Options{})
	done := make(chan reply, 1)
	go func() { done <- get(t, h, "/ixo/claims/claims") }()
	<-entered
	before := g.Version()
	var kept []*descriptorpb.FileDescriptorProto
	for _, f := range querytest.ChainFiles(t) {
		if !strings.Contains(f.GetName(), "claims") {
			kept = append(kept, f)
		}
	}
	node.SetFiles(t, kept)
	querytest.WaitFor(t, "the new table", func() bool { return g.Version() != before })
	if got := get(t, h, "/ixo/claims/claims"); got.Status != http.StatusNotFound {
		t.Errorf("after: %d", got.Status)
	}
	close(release)
	if got := <-done; got.Status != http.StatusOK || !strings.Contains(got.Body, `"claims":[]`) {
		t.Errorf("in flight: %d %s", got.Status, got.Body)
	}
}

func TestTooManyAtATime(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 8), make(chan struct{})
	node := chainNode(t, 5, func(context.Context, querytest.Call) (querytest.Answer, error) {
		entered <- struct{}{}
		<-release
		return querytest.Answer{Height: 5}, nil
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{Concurrency: 1}), queryhttp.Options{})
	done := make(chan reply, 1)
	go func() { done <- get(t, h, "/ixo/claims/claim/a") }()
	<-entered
	got := get(t, h, "/ixo/claims/claim/b")
	if got.Status != http.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
		t.Errorf("second call: %d %s", got.Status, got.Body)
	}
	close(release)
	if got := <-done; got.Status != http.StatusOK {
		t.Errorf("first call: %d", got.Status)
	}
}

func TestErrorDetails(t *testing.T) {
	t.Parallel()
	node := chainNode(t, 5, func(context.Context, querytest.Call) (querytest.Answer, error) {
		s, err := status.New(codes.FailedPrecondition, "not now").WithDetails(&errdetails.ErrorInfo{Reason: "BUSY"})
		if err != nil {
			return querytest.Answer{}, err
		}
		return querytest.Answer{}, s.Err()
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	got := get(t, h, "/ixo/claims/claims")
	if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, `"@type":"type.googleapis.com/google.rpc.ErrorInfo"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestPostAndPlainDialect asks a method with a body, which must be allowed by
// name, of a chain that writes plain proto3 JSON.
func TestPostAndPlainDialect(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../../spec/vectors/query/dialect.proto")
	if err != nil {
		t.Fatal(err)
	}
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.Compile(t, map[string]string{"dialect.proto": string(source)}),
		Answer: func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
			return querytest.Answer{Wire: call.Wire}, nil
		},
	})
	refusing := querytest.StartPool(t, upstream.Config{Dialect: wirejson.Plain}, node)
	h := serve(t, query.New([]query.Chain{refusing}, query.Config{}), queryhttp.Options{})
	if got := do(t, h, http.MethodPost, "/dialect/known", `{}`); got.Status != http.StatusNotImplemented {
		t.Errorf("not allowed: %d %s", got.Status, got.Body)
	}
	allowing := querytest.StartPool(t, upstream.Config{Dialect: wirejson.Plain, Methods: []string{"castalia.dialect.Dialect/GetKnown"}}, node)
	h = serve(t, query.New([]query.Chain{allowing}, query.Config{}), queryhttp.Options{})
	got := do(t, h, http.MethodPost, "/dialect/known", `{"createdAt":"2025-01-01T00:00:00Z","big":"5"}`)
	if got.Status != http.StatusOK || !strings.Contains(got.Body, `"createdAt":"2025-01-01T00:00:00Z"`) || !strings.Contains(got.Body, `"big":"5"`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	wantHeaders(t, got, "X-Cache", "BYPASS", "Cache-Control", "no-cache")
	wantHeaders(t, do(t, h, http.MethodOptions, "/dialect/known", ""), "Allow", "GET, HEAD, OPTIONS, POST")
	if got := do(t, h, http.MethodPost, "/dialect/known", `{"big":`); got.Status != http.StatusBadRequest {
		t.Errorf("bad body: %d %s", got.Status, got.Body)
	}
	crowd := `{"big":[` + strings.Repeat(`{},`, 11_000) + `0]}`
	if got := do(t, h, http.MethodPost, "/dialect/known", crowd); got.Status != http.StatusBadRequest ||
		!strings.Contains(got.Body, "more than 20000 values") {
		t.Errorf("a crowd of values: %d %s", got.Status, got.Body)
	}
	if got := get(t, h, "/dialect/nodes/x?name=n"); got.Body != `{"name":"","next":{"name":"x","next":null}}` {
		t.Errorf("response_body: %s", got.Body)
	}
}

// TestPostIsSentOnce is a method that may change something: a node that breaks
// off may have carried it out, so that no other one is asked.
func TestPostIsSentOnce(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../../spec/vectors/query/dialect.proto")
	if err != nil {
		t.Fatal(err)
	}
	const method = "castalia.dialect.Dialect/GetKnown"
	nodes := make([]*querytest.Node, 2)
	for i := range nodes {
		nodes[i] = querytest.StartNode(t, querytest.NodeConfig{
			Files: querytest.Compile(t, map[string]string{"dialect.proto": string(source)}), Height: 5,
			Answer: func(context.Context, querytest.Call) (querytest.Answer, error) {
				return querytest.Answer{}, status.Error(codes.Unavailable, "the connection broke after it was done")
			},
		})
	}
	pool := querytest.StartPool(t, upstream.Config{Methods: []string{method}}, nodes...)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{}), queryhttp.Options{})
	asked := func() int { return nodes[0].Calls("/"+method) + nodes[1].Calls("/"+method) }
	if got := do(t, h, http.MethodPost, "/dialect/known", `{}`); got.Status != http.StatusServiceUnavailable || asked() != 1 {
		t.Errorf("%d after %d calls", got.Status, asked())
	}
	if got := get(t, h, "/dialect/known"); got.Status != http.StatusServiceUnavailable || asked() < 3 {
		t.Errorf("a query: %d after %d calls in all", got.Status, asked())
	}
}

// TestHurriedClient cannot spoil the call on which others wait, nor have the
// node taken for broken.
func TestHurriedClient(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 64), make(chan struct{})
	node := chainNode(t, 5, func(ctx context.Context, _ querytest.Call) (querytest.Answer, error) {
		entered <- struct{}{}
		select {
		case <-release:
			return querytest.Answer{Height: 5}, nil
		case <-ctx.Done():
			return querytest.Answer{}, ctx.Err()
		}
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	g := query.New([]query.Chain{pool}, query.Config{})
	h := serve(t, g, queryhttp.Options{})
	hurried, patient := make(chan reply, 1), make(chan reply, 1)
	go func() { hurried <- get(t, h, "/ixo/claims/claims", "Grpc-Timeout", "2S") }()
	<-entered
	go func() { patient <- get(t, h, "/ixo/claims/claims") }()
	querytest.WaitFor(t, "the patient client", func() bool { return g.CacheStats().Coalesced == 1 })
	if got := <-hurried; got.Status != http.StatusGatewayTimeout {
		t.Errorf("hurried: %d %s", got.Status, got.Body)
	}
	for range 10 {
		get(t, h, "/cosmos/base/tendermint/v1beta1/blocks/latest", "Grpc-Timeout", "1m")
	}
	close(release)
	if got := <-patient; got.Status != http.StatusOK {
		t.Errorf("patient: %d %s", got.Status, got.Body)
	}
	if got := get(t, h, "/ixo/claims/claim/x"); got.Status != http.StatusOK {
		t.Errorf("afterwards: %d %s", got.Status, got.Body)
	}
}

// TestTheLastAskerEndsTheCall lets two clients wait for one call. The node learns
// it when both have left; that one alone does not end it is TestHurriedClient's.
func TestTheLastAskerEndsTheCall(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}, 1), make(chan struct{})
	node := chainNode(t, 5, func(ctx context.Context, _ querytest.Call) (querytest.Answer, error) {
		entered <- struct{}{}
		<-ctx.Done()
		close(ended)
		return querytest.Answer{}, ctx.Err()
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	g := query.New([]query.Chain{pool}, query.Config{})
	h := serve(t, g, queryhttp.Options{})
	ask := func() (leave func(), left chan struct{}) {
		ctx, leave := context.WithCancel(t.Context())
		left = make(chan struct{})
		go func() {
			defer close(left)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/ixo/claims/claims", nil))
		}()
		return leave, left
	}
	leave, left := ask()
	<-entered
	leaveToo, leftToo := ask()
	querytest.WaitFor(t, "the second client", func() bool { return g.CacheStats().Coalesced == 1 })
	leave()
	<-left
	leaveToo()
	<-leftToo
	<-ended
}

// TestUncachedIsCompressedByTheServer has one compression, not two or none.
func TestUncachedIsCompressedByTheServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	h := serve(t, query.New([]query.Chain{l.pool}, query.Config{CacheBytes: -1}), queryhttp.Options{})
	plain := get(t, h, "/ixo/claims/claims")
	wantHeaders(t, plain, "X-Cache", "BYPASS", "Etag", "")
	packed := get(t, h, "/ixo/claims/claims", "Accept-Encoding", "gzip")
	wantHeaders(t, packed, "Content-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(packed.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != plain.Body {
		t.Errorf("%v: %d bytes, want %d", err, len(got), len(plain.Body))
	}
}

// TestCacheIsBounded fills the cache with more than it holds.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	g := query.New([]query.Chain{l.pool}, query.Config{CacheBytes: 512 << 10})
	for i := range 300 {
		if _, err := g.Get(t.Context(), "/ixo/claims/claims?pagination.offset="+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	s := g.CacheStats()
	if s.Bytes > s.MaxBytes || s.Evicted == 0 || s.Entries == 0 {
		t.Errorf("%+v", s)
	}
}
