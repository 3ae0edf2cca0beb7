package query_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

const vectorsDir = "../../../spec/vectors/query"

// bodies has a method with a body for each kind of message, and one whose body
// is a field.
const bodies = `syntax = "proto3";
package castalia.bodies;
import "dialect.proto";
import "google/api/annotations.proto";
service Bodies {
  rpc Scalars(castalia.dialect.Scalars) returns (castalia.dialect.Scalars) { option (google.api.http) = {post: "/bodies/Scalars" body: "*"}; }
  rpc Lists(castalia.dialect.Lists) returns (castalia.dialect.Lists) { option (google.api.http) = {post: "/bodies/Lists" body: "*"}; }
  rpc Node(castalia.dialect.Node) returns (castalia.dialect.Node) { option (google.api.http) = {post: "/bodies/Node/{name}" body: "next"}; }
  rpc Known(castalia.dialect.Known) returns (castalia.dialect.Known) { option (google.api.http) = {post: "/bodies/Known" body: "*"}; }
}
`

// echoChain says back what it was asked, and remembers it.
type echoChain struct {
	stubChain
	asked []byte
}

func (e *echoChain) Invoke(_ context.Context, call query.Call) (query.Reply, error) {
	e.asked = call.Wire
	return query.Reply{Wire: call.Wire}, nil
}

func newEcho(t testing.TB) (*echoChain, *query.Gateway) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(vectorsDir, "dialect.proto"))
	if err != nil {
		t.Fatal(err)
	}
	methods := []string{"Scalars", "Lists", "Node", "Known"}
	for i := range methods {
		methods[i] = "castalia.bodies.Bodies/" + methods[i]
	}
	c, err := httprule.NewCatalog(querytest.Compile(t, map[string]string{"dialect.proto": string(source), "bodies.proto": bodies}),
		httprule.CatalogOptions{Name: "echo", Methods: methods})
	if err != nil {
		t.Fatal(err)
	}
	chain := &echoChain{stubChain: stubChain{catalog: c}}
	return chain, query.New([]query.Chain{chain}, query.Config{CacheBytes: -1})
}

func post(t testing.TB, g *query.Gateway, target string, body []byte) (string, error) {
	t.Helper()
	path, raw, _ := strings.Cut(target, "?")
	found, err := g.Find(http.MethodPost, path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Answer(t.Context(), found, query.Ask{RawQuery: raw, Body: body})
	if err != nil {
		return "", err
	}
	defer a.Close()
	return string(a.Body), nil
}

// TestBodies binds the whole message or a field of it; the path wins.
func TestBodies(t *testing.T) {
	t.Parallel()
	_, g := newEcho(t)
	for _, tt := range []struct{ target, body, want string }{
		{"/bodies/Node/n", `{"name":"inner","text":"t"}`, `{"name":"n","next":{"name":"inner","next":null,"text":"t"}}`},
		{"/bodies/Node/n", ``, `{"name":"n","next":null}`},
		{"/bodies/Node/n?name=other", `{"unknown":[1,{}]}`, `{"name":"n","next":{"name":"","next":null}}`},
	} {
		if got, err := post(t, g, tt.target, []byte(tt.body)); err != nil || got != tt.want {
			t.Errorf("%s %s: %v\n got %s\nwant %s", tt.target, tt.body, err, got, tt.want)
		}
	}
	for _, body := range []string{`{`, `[]`, `1`, `{"name":1}`, `{"name":"a"} {}`, "\xff", `{"name":"` + "\xff" + `"}`, strings.Repeat(`{"next":`, 20000)} {
		_, err := post(t, g, "/bodies/Node/n", []byte(body))
		status, ok := errors.AsType[*query.StatusError](err)
		if !ok || status.Code != codes.InvalidArgument || len(status.Message) > 500 {
			t.Errorf("%.40q: %v", body, err)
		}
	}
}

// FuzzBody sends what nobody should: it is refused as the client's mistake, or
// it becomes a message that the method takes and whose reply can be written.
func FuzzBody(f *testing.F) {
	chain, g := newEcho(f)
	linked := querytest.Link(f, querytest.DialectFiles(f, vectorsDir))
	types := map[string]string{"/bodies/Scalars": "Scalars", "/bodies/Lists": "Lists", "/bodies/Node/x": "Node", "/bodies/Known": "Known"}
	paths := []string{"/bodies/Scalars", "/bodies/Lists", "/bodies/Node/x", "/bodies/Known"}
	for i, seed := range []string{
		`{"an_int32":-5,"a_uint64":"18446744073709551615","a_double":"NaN","a_bytes":"AQID","a_bool":true}`,
		`{"numbers":["1",2,3e0],"names":["a",null],"by_name":{"k":{"name":"n"}},"by_number":{"1":"x"}}`,
		`{"name":"inner","next":{"next":{}},"text":"t","blob":"AA=="}`,
		`{"createdAt":"2025-01-01T00:00:00.5Z","any":{"@type":"/castalia.dialect.Node","name":"n"},"big":"5"}`,
	} {
		f.Add(i, []byte(seed))
		f.Add(i, []byte(seed[:len(seed)/2]))
	}
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		path := paths[uint(which)%uint(len(paths))]
		out, err := post(t, g, path, body)
		if err != nil {
			status, ok := errors.AsType[*query.StatusError](err)
			if !ok || status.Code != codes.InvalidArgument {
				t.Errorf("%s %q: %v", path, body, err)
			}
			return
		}
		m := dynamicpb.NewMessage(querytest.MessageType(t, linked, "castalia.dialect."+types[path]))
		if err := proto.Unmarshal(chain.asked, m); err != nil {
			t.Errorf("%s %q: sent %x, which is no such message: %v", path, body, chain.asked, err)
		}
		if again, err := post(t, g, path, body); err != nil || again != out {
			t.Errorf("%s %q: not the same twice", path, body)
		}
	})
}
