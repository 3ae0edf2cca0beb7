package upstream_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const claims = "/ixo.claims.v1beta1.Query/ClaimList"

// named starts a node whose replies say its name, as an unknown field would.
func named(t *testing.T, height int64, failing *atomic.Bool) *querytest.Node {
	t.Helper()
	return querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.ChainFiles(t), Height: height,
		Answer: func(context.Context, querytest.Call) (querytest.Answer, error) {
			if failing != nil && failing.Load() {
				return querytest.Answer{}, status.Error(codes.Unavailable, "down for a moment")
			}
			return querytest.Answer{Height: height}, nil
		},
	})
}

func invoke(t *testing.T, p *upstream.Pool, height int64) (query.Reply, error) {
	t.Helper()
	reply, err := p.Invoke(t.Context(), query.Call{Method: claims, Height: height})
	if err == nil && reply.Release != nil {
		reply.Release()
	}
	return reply, err
}

func stateOf(p *upstream.Pool, addr string) string {
	for _, n := range p.View().Nodes {
		if n.Address == addr {
			return n.State
		}
	}
	return ""
}

func TestParseTargets(t *testing.T) {
	t.Parallel()
	got, err := upstream.ParseTargets([]string{
		"a:9090", "b:9090?tls=1", "c:1?chain=other&dialect=plain&descriptors=x.fds&post=p.S/M", "d:2?chain=other&server_name=d.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []upstream.Config{
		{Name: "main", Targets: []upstream.Target{{Address: "a:9090"}, {Address: "b:9090", TLS: true}}},
		{
			Name: "other", Dialect: wirejson.Plain, Descriptors: "x.fds", Methods: []string{"p.S/M"},
			Targets: []upstream.Target{{Address: "c:1"}, {Address: "d:2", TLS: true, ServerName: "d.example"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "?tls=1", "a:1?what=1", "a:1?dialect=french", "a:1?%zz"} {
		if _, err := upstream.ParseTargets([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if _, err := upstream.New(t.Context(),
		upstream.Config{Name: "x", Targets: []upstream.Target{{Address: "a:1", TLS: true, CA: "missing.pem"}}}); err == nil {
		t.Error("a missing CA file was accepted")
	}
}

func TestReflectionVersions(t *testing.T) {
	t.Parallel()
	files := querytest.ChainFiles(t)
	digests := make(map[string]bool)
	for _, old := range []bool{false, true} {
		node := querytest.StartNode(t, querytest.NodeConfig{Files: files, Height: 1, OldReflection: old})
		pool := querytest.StartPool(t, upstream.Config{}, node)
		digests[pool.Catalog().Digest] = true
		if n := len(pool.Catalog().Routes); n != 29 {
			t.Errorf("old=%v: %d routes", old, n)
		}
	}
	if len(digests) != 1 {
		t.Errorf("digests: %v", digests)
	}
}

func TestDescriptorFile(t *testing.T) {
	t.Parallel()
	wire, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: querytest.ChainFiles(t)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "chain.fds")
	if err := os.WriteFile(path, wire, 0o600); err != nil {
		t.Fatal(err)
	}
	node := querytest.StartNode(t, querytest.NodeConfig{Files: querytest.ChainFiles(t), Height: 1, NoReflection: true})
	pool := querytest.StartPool(t, upstream.Config{Descriptors: path}, node)
	if n := len(pool.Catalog().Routes); n != 29 {
		t.Errorf("%d routes", n)
	}
	for _, content := range []string{"", "nonsense"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := upstream.New(t.Context(), upstream.Config{
			Name: "x", Targets: []upstream.Target{{Address: node.Addr}}, Descriptors: path,
		})
		if err == nil {
			t.Errorf("descriptors %q were accepted", content)
		}
	}
}

// TestNodesOutOfStep are not asked: one that lags, one that is catching up and
// one whose height nobody else has seen.
func TestNodesOutOfStep(t *testing.T) {
	t.Parallel()
	good, other, lagging, syncing, liar := named(t, 1000, nil), named(t, 1001, nil), named(t, 900, nil),
		named(t, 1000, nil), named(t, 1<<40, nil)
	syncing.SetSyncing(true)
	pool := querytest.StartPool(t, upstream.Config{}, good, other, lagging, syncing, liar)
	querytest.WaitFor(t, "all nodes to be judged", func() bool {
		return stateOf(pool, good.Addr) == "in step" && stateOf(pool, other.Addr) == "in step" &&
			stateOf(pool, lagging.Addr) == "lagging" &&
			stateOf(pool, syncing.Addr) == "catching up" && stateOf(pool, liar.Addr) == "not believed"
	})
	if h := pool.Head().Height; h != 1001 {
		t.Errorf("head is %d", h)
	}
	before := [3]int{lagging.Calls(claims), syncing.Calls(claims), liar.Calls(claims)}
	for range 50 {
		if _, err := invoke(t, pool, 0); err != nil {
			t.Fatal(err)
		}
	}
	if after := [3]int{lagging.Calls(claims), syncing.Calls(claims), liar.Calls(claims)}; after != before {
		t.Errorf("nodes out of step were asked: %v", after)
	}
}

// TestFailover asks the other node when one fails, and stops asking the one
// that keeps failing.
func TestFailover(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	bad, good := named(t, 10, &failing), named(t, 10, nil)
	pool := querytest.StartPool(t, upstream.Config{Probe: time.Hour}, bad, good)
	querytest.WaitFor(t, "both to be known", func() bool {
		return stateOf(pool, bad.Addr) == "in step" && stateOf(pool, good.Addr) == "in step"
	})
	for range 200 {
		if _, err := invoke(t, pool, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := bad.Calls(claims); n > 20 {
		t.Errorf("the failing node was asked %d times", n)
	}
	if stateOf(pool, bad.Addr) != "broken" && bad.Calls(claims) >= 5 {
		t.Errorf("the failing node is %s", stateOf(pool, bad.Addr))
	}
}

// TestFailingNodeWithGoodProbes is not taken for healthy because it can say how
// far it is: the other node answers everything, without retries for each call.
func TestFailingNodeWithGoodProbes(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	bad, good := named(t, 10, &failing), named(t, 10, nil)
	pool := querytest.StartPool(t, upstream.Config{Probe: time.Millisecond}, bad, good)
	querytest.WaitFor(t, "both to be known", func() bool {
		return stateOf(pool, bad.Addr) == "in step" && stateOf(pool, good.Addr) == "in step"
	})
	for i := range 60 {
		if _, err := invoke(t, pool, 0); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		seen := probes(pool, bad.Addr)
		querytest.WaitFor(t, "the next probe", func() bool { return probes(pool, bad.Addr).After(seen) })
	}
	failing.Store(false)
	before := bad.Calls(claims)
	good.Stop()
	querytest.WaitFor(t, "the node that works again", func() bool {
		_, err := invoke(t, pool, 0)
		return err == nil && bad.Calls(claims) > before
	})
}

func probes(p *upstream.Pool, address string) time.Time {
	for _, n := range p.View().Nodes {
		if n.Address == address {
			return n.Seen
		}
	}
	return time.Time{}
}

// TestLeastLoaded leaves a node alone that is still busy with an earlier call.
func TestLeastLoaded(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	answer := func(context.Context, querytest.Call) (querytest.Answer, error) {
		if once.CompareAndSwap(false, true) {
			close(entered)
			<-release
		}
		return querytest.Answer{Height: 10}, nil
	}
	nodes := make([]*querytest.Node, 2)
	for i := range nodes {
		nodes[i] = querytest.StartNode(t, querytest.NodeConfig{Files: querytest.ChainFiles(t), Height: 10, Answer: answer})
	}
	pool := querytest.StartPool(t, upstream.Config{Probe: time.Hour}, nodes...)
	querytest.WaitFor(t, "both to be known", func() bool {
		return stateOf(pool, nodes[0].Addr) == "in step" && stateOf(pool, nodes[1].Addr) == "in step"
	})
	done := make(chan error, 1)
	go func() {
		_, err := pool.Invoke(t.Context(), query.Call{Method: claims})
		done <- err
	}()
	<-entered
	busy := nodes[0]
	if busy.Calls(claims) == 0 {
		busy = nodes[1]
	}
	for range 20 {
		if _, err := invoke(t, pool, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n := busy.Calls(claims); n != 1 {
		t.Errorf("the busy node was asked %d times", n)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRetriesAreBounded sends at most a tenth more than it was asked, once the
// first allowance is used up.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	a, b := named(t, 10, &failing), named(t, 10, &failing)
	pool := querytest.StartPool(t, upstream.Config{Probe: time.Hour}, a, b)
	const calls = 100
	for range calls {
		_, err := invoke(t, pool, 0)
		var s *query.StatusError
		if !errors.As(err, &s) || s.Code != codes.Unavailable || strings.Contains(s.Message, a.Addr) {
			t.Fatalf("%v", err)
		}
	}
	if n := a.Calls(claims) + b.Calls(claims); n > calls+20+calls/10 {
		t.Errorf("%d calls for %d requests", n, calls)
	}
}

// TestPrunedNode asks the archive when the first node has dropped the state.
func TestPrunedNode(t *testing.T) {
	t.Parallel()
	answer := func(archive bool) func(context.Context, querytest.Call) (querytest.Answer, error) {
		return func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
			if call.Height > 0 && !archive {
				return querytest.Answer{}, status.Error(codes.InvalidArgument, "failed to load state at height 5; version does not exist")
			}
			return querytest.Answer{Height: max(call.Height, 10)}, nil
		}
	}
	files := querytest.ChainFiles(t)
	nodes := make([]*querytest.Node, 2)
	for i := range nodes {
		nodes[i] = querytest.StartNode(t, querytest.NodeConfig{Files: files, Height: 10, Answer: answer(i == 1)})
	}
	pool := querytest.StartPool(t, upstream.Config{}, nodes...)
	for i := range 60 { // more than the first allowance of retries
		if reply, err := invoke(t, pool, 10); err != nil || reply.Height != 10 {
			t.Fatalf("call %d: %+v, %v", i, reply, err)
		}
	}
	if n := nodes[0].Calls(claims); n > 1 {
		t.Errorf("the node was asked %d times for what it does not have", n)
	}
}

// TestARecordThatIsNotThere is no dropped state, whatever its name: a client
// could use up the retries of all others by it.
func TestARecordThatIsNotThere(t *testing.T) {
	t.Parallel()
	nodes := make([]*querytest.Node, 2)
	for i := range nodes {
		nodes[i] = querytest.StartNode(t, querytest.NodeConfig{
			Files: querytest.ChainFiles(t), Height: 10,
			Answer: func(context.Context, querytest.Call) (querytest.Answer, error) {
				return querytest.Answer{}, status.Error(codes.NotFound, "entity not found: pruned")
			},
		})
	}
	pool := querytest.StartPool(t, upstream.Config{}, nodes...)
	_, err := invoke(t, pool, 5)
	var s *query.StatusError
	if !errors.As(err, &s) || s.Code != codes.NotFound {
		t.Errorf("%v", err)
	}
	if n := nodes[0].Calls(claims) + nodes[1].Calls(claims); n != 1 {
		t.Errorf("%d nodes were asked", n)
	}
}

// TestTypesInsideAny are looked up by name when a reply first shows one.
func TestTypesInsideAny(t *testing.T) {
	t.Parallel()
	files := querytest.Compile(t, map[string]string{
		"q.proto": `syntax = "proto3"; package q;
			import "google/api/annotations.proto"; import "google/protobuf/any.proto";
			message Request {} message Reply { google.protobuf.Any thing = 1; }
			service Query { rpc Get(Request) returns (Reply) { option (google.api.http).get = "/q"; } }`,
		"hidden.proto": `syntax = "proto3"; package hidden; message Secret { string word = 1; }`,
	})
	thing := "\n\x0e/hidden.Secret\x12\x04\n\x02hi"
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: files, Height: 3,
		Answer: func(context.Context, querytest.Call) (querytest.Answer, error) {
			return querytest.Answer{Wire: []byte("\n" + string(rune(len(thing))) + thing), Height: 3}, nil
		},
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	if pool.Catalog().Types.Knows("hidden.Secret") {
		t.Fatal("the type is known already")
	}
	g := query.New([]query.Chain{pool}, query.Config{})
	got, err := g.Get(t.Context(), "/q")
	if want := `{"thing":{"@type":"/hidden.Secret","word":"hi"}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if files, _ := pool.Describe(t.Context(), "nobody.Knows"); len(files) != 0 {
		t.Errorf("%d files for an unknown type", len(files))
	}
	asked := node.Calls("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
	if files, err := pool.Describe(t.Context(), "nobody.Knows"); len(files) != 0 || err != nil {
		t.Errorf("asked again: %v", err)
	}
	if n := node.Calls("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"); n != asked {
		t.Error("the node was asked again for a type that it does not know")
	}
}

// TestNotAChain serves nodes without blocks: nothing is kept, all is answered.
func TestNotAChain(t *testing.T) {
	t.Parallel()
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.ChainFiles(t),
		Answer: func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
			if strings.Contains(call.Method, "tendermint") {
				return querytest.Answer{}, status.Error(codes.Unimplemented, "unknown service")
			}
			return querytest.Answer{}, nil
		},
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	g := query.New([]query.Chain{pool}, query.Config{})
	for range 2 {
		if _, err := g.Get(t.Context(), "/ixo/claims/claims"); err != nil {
			t.Fatal(err)
		}
	}
	if n := node.Calls(claims); n != 2 {
		t.Errorf("%d calls: a reply without a height was kept", n)
	}
}
