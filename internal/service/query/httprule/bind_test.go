package httprule_test

import (
	"errors"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

const vectorsDir = "../../../../spec/vectors/query"

func catalog(t testing.TB, files []*descriptorpb.FileDescriptorProto) *httprule.Catalog {
	t.Helper()
	c, err := httprule.NewCatalog(files, httprule.CatalogOptions{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bind finds the first route whose parameters fit, as the gateway does.
func bind(t testing.TB, r *httprule.Router, target string) (httprule.Request, error) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		t.Fatal(err)
	}
	var request httprule.Request
	last := errors.New("no route")
	r.Find(u.EscapedPath(), func(m httprule.Match) bool {
		if m.Route.HTTPMethod != "GET" {
			return true
		}
		request, last = m.Bind(values, 0)
		return last != nil
	})
	return request, last
}

func dialectRouter(t testing.TB) *httprule.Router {
	t.Helper()
	r := new(httprule.Router)
	for _, route := range catalog(t, querytest.DialectFiles(t, vectorsDir)).Routes {
		r.Add(route)
	}
	return r
}

func TestBind(t *testing.T) {
	t.Parallel()
	linked := querytest.Link(t, querytest.DialectFiles(t, vectorsDir))
	r := dialectRouter(t)
	for target, want := range map[string]struct{ message, text string }{
		"/dialect/scalars/did:x:1":                       {"Scalars", `a_string: "did:x:1"`},
		"/dialect/scalars/a%2Fb%20c":                     {"Scalars", `a_string: "a/b c"`},
		"/dialect/scalars/x:verb":                        {"Scalars", `a_string: "x"`},
		"/dialect/scalars/x/state/PAUSED":                {"Scalars", `a_string: "x" state: PAUSED`},
		"/dialect/scalars/x/state/300":                   {"Scalars", `a_string: "x" state: CLOSED`},
		"/dialect/deep/a/b%2Fc/tail":                     {"Scalars", `a_string: "a/b/c"`},
		"/dialect/number/42?a_string=s&aBool=true":       {"Scalars", `a_uint64: 42 a_string: "s" a_bool: true`},
		"/dialect/number/1?an_int32=-5&aSint64=-6":       {"Scalars", `a_uint64: 1 an_int32: -5 a_sint64: -6`},
		"/dialect/number/1?a_double=0.5&a_float=-1e3":    {"Scalars", `a_uint64: 1 a_double: 0.5 a_float: -1000`},
		"/dialect/number/1?a_uint64=7&a_string=a":        {"Scalars", `a_uint64: 1 a_string: "a"`},
		"/dialect/number/1?a_string=first&a_string=two":  {"Scalars", `a_uint64: 1 a_string: "first"`},
		"/dialect/number/1?unknown=1&a.b=2":              {"Scalars", `a_uint64: 1`},
		"/dialect/number/1?maybe=0&an_int32=0":           {"Scalars", `a_uint64: 1 maybe: 0`},
		"/dialect/number/1?some_bytes=-_8":               {"Scalars", `a_uint64: 1 some_bytes: "\373\377"`},
		"/dialect/number/1?some_bytes=+/8=":              {"Scalars", `a_uint64: 1 some_bytes: "\373\377"`},
		"/dialect/twin/AQID":                             {"Scalars", `some_bytes: "\001\002\003"`},
		"/dialect/twin/did:ixo":                          {"Scalars", `a_string: "did:ixo"`},
		"/dialect/lists?numbers=1&numbers=2&names=b":     {"Lists", `numbers: [1, 2] names: "b"`},
		"/dialect/lists/3,4":                             {"Lists", `numbers: [3, 4]`},
		"/dialect/lists?by_number[7]=x&by_truth[true]=1": {"Lists", `by_number { key: 7 value: "x" } by_truth { key: true value: PAUSED }`},
		"/dialect/nodes/deep?name=n":                     {"Node", `name: "n" next { next { name: "deep" } }`},
		"/dialect/nodes/d?next.text=t":                   {"Node", `next { text: "t" next { name: "d" } }`},
		"/dialect/known?created_at=2025-01-01T00:00:00.5Z&period=1.5s": {
			"Known", `created_at { seconds: 1735689600 nanos: 500000000 } period { seconds: 1 nanos: 500000000 }`,
		},
		"/dialect/known?big=5&text=x&mask=aB,c": {"Known", `big { value: 5 } text { value: "x" } mask { paths: ["a_b", "c"] }`},
	} {
		got, err := bind(t, r, target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		md := querytest.MessageType(t, linked, "castalia.dialect."+want.message)
		a, b := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
		if err := prototext.Unmarshal([]byte(want.text), a); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(got.Wire, b); err != nil {
			t.Errorf("%s: %v", target, err)
		}
		if diff := cmp.Diff(a, b, protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want +got\n%s", target, diff)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	r := dialectRouter(t)
	for _, target := range []string{
		"/dialect/number/abc",
		"/dialect/number/-1",
		"/dialect/number/18446744073709551616",
		"/dialect/scalars/x/state/BOGUS",
		"/dialect/scalars/x/state/7",
		"/dialect/number/1?an_int32=2147483648",
		"/dialect/number/1?a_bool=perhaps",
		"/dialect/number/1?a_double=x",
		"/dialect/number/1?some_bytes=%21",
		"/dialect/number/1?a_string=%ff",
		"/dialect/lists?nodes=1",
		"/dialect/lists?nodes.name=1",
		"/dialect/lists?by_number=1",
		"/dialect/lists?by_number[x]=1",
		"/dialect/lists?names[1]=1",
		"/dialect/nodes/x?scalars=1",
		"/dialect/nodes/x?text=a&blob=YQ==",
		"/dialect/known?created_at=yesterday",
		"/dialect/known?period=long",
	} {
		if _, err := bind(t, r, target); !errors.Is(err, httprule.ErrParameter) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestEqualRequestsHaveEqualBytes keeps the cache key honest.
func TestEqualRequestsHaveEqualBytes(t *testing.T) {
	t.Parallel()
	r := dialectRouter(t)
	a, errA := bind(t, r, "/dialect/number/1?a_string=x&an_int32=5&a_bool=0")
	b, errB := bind(t, r, "/dialect/number/01?anInt32=05&aString=x&other=1")
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if string(a.Wire) != string(b.Wire) {
		t.Errorf("%x and %x", a.Wire, b.Wire)
	}
}
