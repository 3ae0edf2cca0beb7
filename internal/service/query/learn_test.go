package query_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/httprule"
	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

// boxes is a chain whose replies hold types that its catalogue does not have.
type boxes struct {
	query.Chain

	catalog *httprule.Catalog
	wire    []byte
	hidden  map[string]*descriptorpb.FileDescriptorProto // by the type that they describe
	asked   int
	named   []string // the types that a description was asked for
	silent  bool     // nobody describes anything at the moment
	fails   error
}

func (c *boxes) Name() string               { return "main" }
func (c *boxes) Catalog() *httprule.Catalog { return c.catalog }
func (c *boxes) Head() query.Head           { return query.Head{Height: 9} }

func (c *boxes) Invoke(_ context.Context, call query.Call) (query.Reply, error) {
	c.asked++
	if c.fails != nil {
		return query.Reply{}, c.fails
	}
	height := c.Head().Height
	if call.Height > 0 {
		height = call.Height
	}
	return query.Reply{Wire: c.wire, Height: height}, nil
}

func (c *boxes) Describe(_ context.Context, name string) ([]*descriptorpb.FileDescriptorProto, error) {
	c.named = append(c.named, name)
	if c.silent || c.hidden[name] == nil {
		return nil, errors.New("no node answers")
	}
	return []*descriptorpb.FileDescriptorProto{c.hidden[name]}, nil
}

// box is a google.protobuf.Any of the type with this in its first field.
func box(typeName string, first []byte) []byte {
	value := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), first)
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "/"+typeName)
	return protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), value)
}

func newBoxes(t *testing.T, things ...[]byte) (*boxes, *query.Gateway) {
	t.Helper()
	files := querytest.Compile(t, map[string]string{
		"q.proto": `syntax = "proto3"; package q;
			import "google/api/annotations.proto"; import "google/protobuf/any.proto";
			message Request {} message Reply { repeated google.protobuf.Any things = 1; }
			message Reason { string when = 1; string why = 2; }
			service Query { rpc Get(Request) returns (Reply) { option (google.api.http).get = "/q"; } }`,
		"outer.proto": `syntax = "proto3"; package hidden; import "google/protobuf/any.proto";
			message Outer { google.protobuf.Any inner = 1; }`,
		"word.proto": `syntax = "proto3"; package hidden; message Word { string word = 1; }`,
	})
	c := &boxes{hidden: map[string]*descriptorpb.FileDescriptorProto{}}
	var known []*descriptorpb.FileDescriptorProto
	for _, f := range files {
		switch f.GetName() {
		case "outer.proto":
			c.hidden["hidden.Outer"] = f
		case "word.proto":
			c.hidden["hidden.Word"] = f
		default:
			known = append(known, f)
		}
	}
	for _, thing := range things {
		c.wire = protowire.AppendBytes(protowire.AppendTag(c.wire, 1, protowire.BytesType), thing)
	}
	var err error
	if c.catalog, err = httprule.NewCatalog(known, httprule.CatalogOptions{Name: "main"}); err != nil {
		t.Fatal(err)
	}
	return c, query.New([]query.Chain{c}, query.Config{})
}

func askBoxes(t *testing.T, g *query.Gateway, height string) query.Answer {
	t.Helper()
	found, err := g.Find("GET", "/q")
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.Answer(t.Context(), found, query.Ask{Height: height})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// TestTypesBehindTypes only come to light once the one around them is known, or
// stand behind many of another.
func TestTypesBehindTypes(t *testing.T) {
	t.Parallel()
	word := box("hidden.Word", []byte("hi"))
	var things [][]byte
	for range 20 {
		things = append(things, box("hidden.Outer", word))
	}
	_, g := newBoxes(t, things...)
	a := askBoxes(t, g, "")
	one := `{"@type":"/hidden.Outer","inner":{"@type":"/hidden.Word","word":"hi"}}`
	if got, want := string(a.Body), fmt.Sprintf(`{"things":[%s%s]}`, one, strings.Repeat(","+one, 19)); got != want {
		t.Errorf("%s", got)
	}
}

// TestWhatCouldNotBeReadIsNotKept is a reply at a fixed height with a type that
// no node describes at the moment: it does not count as the last word.
func TestWhatCouldNotBeReadIsNotKept(t *testing.T) {
	t.Parallel()
	chain, g := newBoxes(t, box("hidden.Word", []byte("hi")))
	chain.silent = true
	raw := `{"things":[{"@type":"/hidden.Word","value":"CgJoaQ=="}]}`
	for range 2 {
		if a := askBoxes(t, g, "5"); string(a.Body) != raw || a.Pinned || a.State != query.Miss {
			t.Errorf("while nobody describes it: %s, pinned %v, %s", a.Body, a.Pinned, a.State)
		}
	}
	chain.silent = false
	read := `{"things":[{"@type":"/hidden.Word","word":"hi"}]}`
	for _, state := range []query.CacheState{query.Miss, query.Hit} {
		if a := askBoxes(t, g, "5"); string(a.Body) != read || !a.Pinned || a.State != state {
			t.Errorf("later: %s, pinned %v, %s", a.Body, a.Pinned, a.State)
		}
	}
	if chain.asked != 3 {
		t.Errorf("the chain was asked %d times", chain.asked)
	}
}

// TestDetailsInAnyOrder are written like replies, whose fields may come in any
// order too; and a failure that many wait for is changed by none of them.
func TestDetailsInAnyOrder(t *testing.T) {
	t.Parallel()
	chain, g := newBoxes(t)
	// q.Reason, its second field before the first.
	reason := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "busy")
	reason = protowire.AppendString(protowire.AppendTag(reason, 1, protowire.BytesType), "now")
	detail := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "/q.Reason")
	detail = protowire.AppendBytes(protowire.AppendTag(detail, 2, protowire.BytesType), reason)
	shared := &query.StatusError{Code: codes.FailedPrecondition, Message: "no", Details: [][]byte{detail}}
	chain.fails = shared
	found, err := g.Find("GET", "/q")
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Answer(t.Context(), found, query.Ask{})
	status, ok := errors.AsType[*query.StatusError](err)
	if !ok {
		t.Fatal(err)
	}
	want := `{"code":9,"message":"no","details":[{"@type":"/q.Reason","when":"now","why":"busy"}]}`
	if got := string(status.JSON()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if shared.Catalog != nil {
		t.Error("a failure that others may have too was changed")
	}
}

// TestWhatIsNoTypeIsNotLookedFor: whoever writes to a chain may have chosen it.
func TestWhatIsNoTypeIsNotLookedFor(t *testing.T) {
	t.Parallel()
	chain, g := newBoxes(t, box("", nil), box("a b", nil), box("x."+strings.Repeat("y", 1<<20), nil), box("hidden.Word", []byte("hi")))
	a := askBoxes(t, g, "5")
	if !slices.Equal(chain.named, []string{"hidden.Word"}) {
		t.Errorf("%d names were asked for", len(chain.named))
	}
	if !a.Pinned || !strings.HasSuffix(string(a.Body), `,{"@type":"/hidden.Word","word":"hi"}]}`) {
		t.Errorf("pinned %v, %d bytes", a.Pinned, len(a.Body))
	}
}
