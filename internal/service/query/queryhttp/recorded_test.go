package queryhttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/platform/apidocs"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
	"github.com/castalia-org/castalia/test/testenv"
)

// serve mounts a gateway on a real listener stack.
func serve(t testing.TB, g *query.Gateway, opt queryhttp.Options) http.Handler {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{OperatorToken: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(apidocs.Surface(apidocs.Options{}, server.Surfaces)); err != nil {
		t.Fatal(err)
	}
	surface, err := queryhttp.Surface(g, opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(surface); err != nil {
		t.Fatal(err)
	}
	return server
}

// reply is a whole HTTP answer.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

// get asks the handler; headers are name, value pairs.
func get(t testing.TB, h http.Handler, target string, headers ...string) reply {
	t.Helper()
	return do(t, h, http.MethodGet, target, "", headers...)
}

func do(t testing.TB, h http.Handler, method, target, body string, headers ...string) reply {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// unstable replies have no one right form: a random order on the chain, or a
// description that is newer than the code that answered.
var unstable = []string{
	"/cosmos/params/v1beta1/subspaces",
	"/cosmos/staking/v1beta1/historical_info/984",
}

// better are the errors where ours says something else, on purpose.
var better = map[string]int{
	"/ixo/entity/":      http.StatusNotFound, // an empty id is no route
	"/ixo/entity/x/y/z": http.StatusNotFound, // not 501: the path is unknown
	"/ixo/entity/a%2Fb": http.StatusNotFound, // the slash is part of the id, and the chain has no such entity
	// The chain's own gateway does not register the service; it is there.
	"/cosmos/base/reflection/v1beta1/app_descriptor/query_services": http.StatusOK,
	"/cosmos/base/reflection/v1beta1/app_descriptor/codec":          http.StatusOK,
	"/cosmos/base/reflection/v1beta1/app_descriptor/chain":          http.StatusOK,
	"/cosmos/base/reflection/v1beta1/app_descriptor/tx_descriptor":  http.StatusOK,
	"/cosmos/base/reflection/v1beta1/app_descriptor/configuration":  http.StatusOK,
	// The recorded descriptors are of another version: they lack the route.
	"/cosmos/bank/v1beta1/denom_owners_by_query": http.StatusNotFound,
}

// TestRecordedChain puts the gateway before a node that replays what a real
// chain said, and compares it with that chain's own gateway.
func TestRecordedChain(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "QUERY_VECTORS")
	recorded, files := querytest.LoadRecorded(t, os.Getenv("QUERY_VECTORS"))
	linked, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	node := querytest.StartNode(t, querytest.NodeConfig{
		Files: files, OldReflection: true, Height: querytest.Height, Answer: querytest.Replay(t, recorded, linked),
	})
	pool := querytest.StartPool(t, upstream.Config{}, node)
	prefixes, err := query.ParsePrefixes([]string{"ixo"})
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, query.New([]query.Chain{pool}, query.Config{Prefixes: prefixes}), queryhttp.Options{})
	equal := 0
	for _, r := range recorded {
		got := get(t, h, r.Path)
		if want, ok := better[r.Path]; ok {
			if got.Status != want {
				t.Errorf("%s: %d, want %d: %.200s", r.Path, got.Status, want, got.Body)
			}
			continue
		}
		if got.Status != r.Status {
			t.Errorf("%s: %d, the chain said %d: %.200s", r.Path, got.Status, r.Status, got.Body)
			continue
		}
		if r.Status >= 300 {
			compareCode(t, r, got.Body)
			continue
		}
		if strings.Contains(got.Body, `"validator_bond"`) || slices.Contains(unstable, r.Path) {
			continue
		}
		if diff := cmp.Diff(parse(t, r.Body), parse(t, got.Body)); diff != "" {
			t.Errorf("%s: -chain +ours\n%.2000s", r.Path, diff)
			continue
		}
		equal++
	}
	if equal < 113 {
		t.Errorf("only %d replies are equal", equal)
	}
}

func compareCode(t *testing.T, r querytest.Recorded, body string) {
	t.Helper()
	want, _ := parse(t, r.Body).(map[string]any)
	got, _ := parse(t, body).(map[string]any)
	if got["code"] != want["code"] {
		t.Errorf("%s: code %v, the chain said %v", r.Path, got["code"], want["code"])
	}
	if r.GRPC != nil && got["message"] != want["message"] {
		t.Errorf("%s: message %q, the chain said %q", r.Path, got["message"], want["message"])
	}
}

func parse(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %v: %.200s", err, text)
	}
	return v
}
