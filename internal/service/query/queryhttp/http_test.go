package queryhttp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	claimList   = "/ixo.claims.v1beta1.Query/ClaimList"
	tokenParams = "/ixo.token.v1beta1.Query/Params"
)

// lab is a node with a gateway before it.
type lab struct {
	node    *querytest.Node
	pool    *upstream.Pool
	gateway *query.Gateway
	handler http.Handler
}

// labAnswer is a chain of which only some things are known: token params that
// name the height, a list of claims of some size, and one of each failure.
func labAnswer(n *querytest.Node) func(context.Context, querytest.Call) (querytest.Answer, error) {
	return func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
		at := call.Height
		if at == 0 {
			at = n.Height()
		}
		if at > n.Height() {
			return querytest.Answer{}, status.Error(codes.Unknown, "codespace sdk code 26: invalid height: cannot query with height in the future")
		}
		switch call.Method {
		case tokenParams:
			code := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(at))
			return querytest.Answer{
				Wire: protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), code), Height: at,
			}, nil
		case claimList:
			var wire []byte
			for i := range 50 {
				claim := protowire.AppendString(protowire.AppendTag(nil, 5, protowire.BytesType), "bafkrei"+strconv.Itoa(i))
				wire = protowire.AppendBytes(protowire.AppendTag(wire, 1, protowire.BytesType), claim)
			}
			return querytest.Answer{Wire: wire, Height: at}, nil
		case "/ixo.entity.v1beta1.Query/Entity":
			return querytest.Answer{}, status.Error(codes.NotFound, "entity not found")
		default:
			return querytest.Answer{}, status.Error(codes.Unimplemented, "unknown method")
		}
	}
}

func newLab(t *testing.T, opt queryhttp.Options, prefixes ...string) *lab {
	t.Helper()
	l := &lab{}
	l.node = querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.ChainFiles(t), Height: 100,
		Answer: func(ctx context.Context, call querytest.Call) (querytest.Answer, error) {
			return labAnswer(l.node)(ctx, call)
		},
	})
	l.pool = querytest.StartPool(t, upstream.Config{}, l.node)
	if len(prefixes) == 0 {
		prefixes = []string{"ixo"}
	}
	parsed, err := query.ParsePrefixes(prefixes)
	if err != nil {
		t.Fatal(err)
	}

	l.gateway = query.New([]query.Chain{l.pool}, query.Config{Prefixes: parsed})
	l.handler = serve(t, l.gateway, opt)
	return l
}

// block moves the chain on and waits until the gateway has seen it.
func (l *lab) block(t *testing.T, height int64) {
	t.Helper()
	l.node.SetHeight(height)
	querytest.WaitFor(t, "the next block", func() bool { return l.pool.Head().Height == height })
}

func wantHeaders(t *testing.T, r reply, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := r.Header.Get(pairs[i]); got != pairs[i+1] {
			t.Errorf("%s is %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

func TestLatestIsCachedUntilTheNextBlock(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	first := get(t, l.handler, "/ixo/token/params")
	wantHeaders(t, first, "X-Cache", "MISS", "X-Cosmos-Block-Height", "100", "Grpc-Metadata-X-Cosmos-Block-Height", "100", "Content-Type", "application/json")
	if want := `{"params":{"ixo1155_contract_code":"100"}}`; first.Body != want || first.Status != http.StatusOK {
		t.Errorf("%d %s", first.Status, first.Body)
	}
	again := get(t, l.handler, "/ixo/token/params?unknown=1")
	wantHeaders(t, again, "X-Cache", "HIT", "Etag", first.Header.Get("Etag"))
	if n := l.node.Calls(tokenParams); n != 1 {
		t.Errorf("%d calls for two equal requests", n)
	}
	l.block(t, 101)
	next := get(t, l.handler, "/ixo/token/params")
	wantHeaders(t, next, "X-Cache", "MISS", "X-Cosmos-Block-Height", "101")
	if next.Header.Get("Etag") == first.Header.Get("Etag") {
		t.Error("another body has the same tag")
	}
}

func TestPinnedHeightIsKeptForEver(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	first := get(t, l.handler, "/ixo/token/params", "X-Cosmos-Block-Height", "90")
	wantHeaders(t, first, "X-Cache", "MISS", "X-Cosmos-Block-Height", "90", "Cache-Control", "public, max-age=31536000, immutable")
	for _, name := range []string{"X-Cosmos-Block-Height", "Grpc-Metadata-X-Cosmos-Block-Height"} {
		if !slices.Contains(first.Header.Values("Vary"), name) {
			t.Errorf("a cache in between does not know that %s counts: %v", name, first.Header.Values("Vary"))
		}
		wantHeaders(t, get(t, l.handler, "/ixo/token/params", name, "91"), "X-Cosmos-Block-Height", "91")
	}
	l.block(t, 150)
	again := get(t, l.handler, "/ixo/token/params?height=90")
	wantHeaders(t, again, "X-Cache", "HIT", "X-Cosmos-Block-Height", "90")
	if n := l.node.Calls(tokenParams); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestBadHeights(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	for _, target := range []string{"?height=abc", "?height=-1", "?height=101", "?height=99999999999", "?height=99999999999999999999"} {
		if got := get(t, l.handler, "/ixo/token/params"+target); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, got.Status, got.Body)
		}
	}
	if got := get(t, l.handler, "/ixo/token/params?height=5", "X-Cosmos-Block-Height", "6"); got.Status != http.StatusBadRequest {
		t.Errorf("two heights: %d", got.Status)
	}
}

func TestConditionalAndCompressed(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	plain := get(t, l.handler, "/ixo/claims/claims")
	packed := get(t, l.handler, "/ixo/claims/claims", "Accept-Encoding", "br, gzip;q=0.5")
	wantHeaders(t, packed, "Content-Encoding", "gzip", "Content-Length", strconv.Itoa(len(packed.Body)), "X-Cache", "HIT")
	z, err := gzip.NewReader(strings.NewReader(packed.Body))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil || string(unpacked) != plain.Body {
		t.Errorf("unpacked body differs: %v", err)
	}
	if plain.Header.Get("Etag") == packed.Header.Get("Etag") {
		t.Error("two encodings share a strong tag")
	}
	for _, tag := range []string{
		plain.Header.Get("Etag"), packed.Header.Get("Etag"), "W/" + plain.Header.Get("Etag"),
		`"x", ` + plain.Header.Get("Etag"), "*",
	} {
		if got := get(t, l.handler, "/ixo/claims/claims", "If-None-Match", tag); got.Status != http.StatusNotModified || got.Body != "" {
			t.Errorf("If-None-Match %s: %d", tag, got.Status)
		}
	}
	if got := get(t, l.handler, "/ixo/claims/claims", "If-None-Match", `"other"`); got.Status != http.StatusOK {
		t.Errorf("other tag: %d", got.Status)
	}
	if got := get(t, l.handler, "/ixo/claims/claims", "Accept-Encoding", "gzip;q=0"); got.Header.Get("Content-Encoding") != "" {
		t.Error("gzip although it was refused")
	}
	head := do(t, l.handler, http.MethodHead, "/ixo/claims/claims", "")
	wantHeaders(t, head, "Content-Length", strconv.Itoa(len(plain.Body)))
	if head.Status != http.StatusOK || head.Body != "" {
		t.Errorf("HEAD: %d, %d bytes", head.Status, len(head.Body))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	for _, tt := range []struct {
		method, target string
		status, code   int
		text           string
	}{
		{http.MethodGet, "/ixo/claims/nothing", 404, 5, "near: /ixo/claims/"},
		{http.MethodGet, "/ixo", 404, 5, "no route"},
		{http.MethodGet, "/ixo/entity/did:x:1", 404, 5, "entity not found"},
		{http.MethodGet, "/ixo/claims/params", 501, 12, "unknown method"},
		{http.MethodPost, "/ixo/claims/claims", 405, 12, "POST"},
		{http.MethodGet, "/ixo/claims/claims?pagination.limit=x", 400, 3, "pagination.limit"},
		{http.MethodGet, "/ixo/claims/claims?a=%zz", 400, 3, "query string"},
		{http.MethodGet, "/ixo/claims/claims?a=" + strings.Repeat("x", 40000), 414, 3, "longer"},
	} {
		got := do(t, l.handler, tt.method, tt.target, "")
		var body struct {
			Code    int
			Message string
			Details []any
		}
		if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
			t.Errorf("%.60s: %v: %s", tt.target, err, got.Body)
			continue
		}
		if got.Status != tt.status || body.Code != tt.code || !strings.Contains(body.Message, tt.text) ||
			body.Details == nil {
			t.Errorf("%s %.60s: %d %s", tt.method, tt.target, got.Status, got.Body)
		}
	}
	wantHeaders(t, do(t, l.handler, http.MethodPost, "/ixo/claims/claims", ""), "Allow", "GET, HEAD, OPTIONS")
	if got := do(t, l.handler, http.MethodOptions, "/ixo/claims/claims", ""); got.Status != http.StatusNoContent ||
		got.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: %d, Allow %q", got.Status, got.Header.Get("Allow"))
	}
	if got := do(t, l.handler, http.MethodOptions, "/ixo/nowhere", ""); got.Status != http.StatusNotFound {
		t.Errorf("OPTIONS of nothing: %d", got.Status)
	}
	if got := get(t, l.handler, "/elsewhere/x"); got.Status != http.StatusNotFound || strings.Contains(got.Body, "details") {
		t.Errorf("a path of nobody: %d %s", got.Status, got.Body)
	}
	if got := get(t, l.handler, "/ix0/token/params"); got.Status != http.StatusNotFound || !strings.Contains(got.Body, "near: /ixo/token/params") {
		t.Errorf("an unknown prefix: %d %s", got.Status, got.Body)
	}
}

func TestLegacyPaths(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	got := get(t, l.handler, "/ixo/claim")
	wantHeaders(t, got, "Link", `</ixo/claims/claims>; rel="successor-version"`, "X-Cache", "MISS")
	if got.Status != http.StatusOK || got.Header.Get("Deprecation") == "" {
		t.Errorf("%d %v", got.Status, got.Header)
	}
	for old, today := range map[string]string{
		"/ixo/claim/a": "/ixo/claims/claim/a", "/ixo/collection/1": "/ixo/claims/collection/1", "/did/did:x:1": "/ixo/did/dids/did:x:1",
		"/ixo/did": "/ixo/did/dids", "/ixo/token/ixo1x": "/ixo/token/minter/ixo1x", "/ixo/dispute/a%2Fb": "/ixo/claims/dispute/a%2Fb",
	} {
		wantHeaders(t, get(t, l.handler, old), "Link", "<"+today+`>; rel="successor-version"`)
	}
	if got := get(t, l.handler, "/ixo/bonds"); got.Status != http.StatusNotFound {
		t.Errorf("a legacy path whose target is not served: %d", got.Status)
	}
}

func TestRenamedPrefix(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{}, "ixo=impacts")
	if got := get(t, l.handler, "/impacts/token/params"); got.Status != http.StatusOK {
		t.Errorf("new name: %d %s", got.Status, got.Body)
	}
	if got := get(t, l.handler, "/ixo/token/params"); got.Status != http.StatusNotFound || !strings.Contains(got.Body, "near: /impacts/token/params") {
		t.Errorf("old name: %d %s", got.Status, got.Body)
	}
	wantHeaders(t, get(t, l.handler, "/impacts/claim"), "Link", `</impacts/claims/claims>; rel="successor-version"`)
	paths, _ := l.gateway.OpenAPI()
	if paths["/impacts/token/params"] == nil || paths["/ixo/token/params"] != nil {
		t.Error("the documentation has the old name")
	}
}

func TestPageCap(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []byte
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.ChainFiles(t), Height: 5,
		Answer: func(_ context.Context, call querytest.Call) (querytest.Answer, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = call.Wire
			return querytest.Answer{Height: 5}, nil
		},
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	h := serve(t, query.New([]query.Chain{pool}, query.Config{MaxPage: 7}), queryhttp.Options{})
	got := get(t, h, "/ixo/claims/claims?pagination.limit=1000000")
	wantHeaders(t, got, "X-Page-Limit", "7")
	mu.Lock()
	defer mu.Unlock()
	if want := []byte{0x0a, 2, 0x18, 7}; !bytes.Equal(seen, want) {
		t.Errorf("the node was asked %x, want %x", seen, want)
	}
}

// TestOneCallForAThousandClients asks a cold key from everywhere at once.
func TestOneCallForAThousandClients(t *testing.T) {
	t.Parallel()
	const clients = 1000
	release := make(chan struct{})
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: querytest.ChainFiles(t), Height: 5,
		Answer: func(ctx context.Context, _ querytest.Call) (querytest.Answer, error) {
			select {
			case <-release:
				return querytest.Answer{Height: 5}, nil
			case <-ctx.Done():
				return querytest.Answer{}, ctx.Err()
			}
		},
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	g := query.New([]query.Chain{pool}, query.Config{})
	h := serve(t, g, queryhttp.Options{})
	var group sync.WaitGroup
	statuses := make([]int, clients)
	for i := range clients {
		group.Go(func() { statuses[i] = get(t, h, "/ixo/claims/claims").Status })
	}
	querytest.WaitFor(t, "all clients to wait", func() bool { return g.CacheStats().Coalesced == clients-1 })
	close(release)
	group.Wait()
	for _, s := range statuses {
		if s != http.StatusOK {
			t.Fatalf("status %d", s)
		}
	}
	if n := node.Calls(claimList); n != 1 {
		t.Errorf("%d calls for %d clients", n, clients)
	}
}

func TestOperatorView(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	get(t, l.handler, "/ixo/token/params")
	if got := get(t, l.handler, "/query/status"); got.Status == http.StatusOK {
		t.Errorf("without the operator's token: %d", got.Status)
	}
	got := get(t, l.handler, "/query/status", "Authorization", "Bearer operator")
	var view query.View
	if err := json.Unmarshal([]byte(got.Body), &view); err != nil {
		t.Fatalf("%v: %s", err, got.Body)
	}
	if len(view.Chains) != 1 || view.Chains[0].Nodes[0].State != "in step" || view.Cache.Entries != 1 ||
		view.Chains[0].Height != 100 {
		t.Errorf("%s", got.Body)
	}
	routes := get(t, l.handler, "/query/routes", "Authorization", "Bearer operator")
	if !strings.Contains(routes.Body, `"/ixo/entity/{id}"`) {
		t.Errorf("routes: %.300s", routes.Body)
	}
}

// TestOpenAPIRefersToWhatIsThere follows every reference of the document.
func TestOpenAPIRefersToWhatIsThere(t *testing.T) {
	t.Parallel()
	l := newLab(t, queryhttp.Options{})
	got := get(t, l.handler, "/docs-json")
	var document map[string]any
	if err := json.Unmarshal([]byte(got.Body), &document); err != nil {
		t.Fatal(err)
	}
	paths, _ := document["paths"].(map[string]any)
	if paths["/ixo/entity/{id}"] == nil || paths["/ixo/claims/claims"] == nil {
		t.Fatalf("paths are missing: %d", len(paths))
	}
	components, _ := document["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	ids := make(map[any]bool)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("%s is not there", ref)
			}
			if id, ok := v["operationId"]; ok {
				if ids[id] {
					t.Errorf("operationId %v twice", id)
				}
				ids[id] = true
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(document)
}

func TestCORS(t *testing.T) {
	t.Parallel()
	closed := newLab(t, queryhttp.Options{})
	if got := get(t, closed.handler, "/ixo/token/params", "Origin", "https://app.example"); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("closed by default, but a header was sent")
	}
	open := newLab(t, queryhttp.Options{CORS: queryhttp.CORS("https://app.example")})
	got := do(t, open.handler, http.MethodOptions, "/ixo/token/params", "", "Origin", "https://app.example", "Access-Control-Request-Method", "GET")
	wantHeaders(t, got, "Access-Control-Allow-Origin", "https://app.example")
	if got.Status != http.StatusNoContent {
		t.Errorf("preflight: %d", got.Status)
	}
	// A page can send whatever the gate may ask for.
	allowed := strings.ToLower(got.Header.Get("Access-Control-Allow-Headers"))
	for _, name := range []string{queryhttp.HeaderAPIKey, "Authorization", "X-Auth-Type", "X-Ucan-Delegation", "X-Cosmos-Block-Height"} {
		if !strings.Contains(allowed, strings.ToLower(name)) {
			t.Errorf("a page may not send %s: %s", name, allowed)
		}
	}
}

func ExampleParseGate() {
	gate, err := queryhttp.ParseGate("*=ucan|key:s3cret; /cosmos/tx=deny; /ixo/entity=none")
	fmt.Println(gate.Open(), gate.NeedsIdentity(), err)
	// Output: false true <nil>
}
