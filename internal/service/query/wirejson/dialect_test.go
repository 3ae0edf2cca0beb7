package wirejson_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

var update = flag.Bool("update", false, "write the wire bytes of the vectors anew")

const vectorsDir = "../../../../spec/vectors/query"

// dialectCase is one entry of spec/vectors/query/dialect.json.
type dialectCase struct {
	Rule   string `json:"rule"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Wire   string `json:"wire"`
	Cosmos any    `json:"cosmos"`
	Plain  any    `json:"plain"`
}

func typesOf(t testing.TB, d wirejson.Dialect, files []*descriptorpb.FileDescriptorProto) *wirejson.Types {
	t.Helper()
	types := wirejson.NewTypes(d)
	if warnings := types.Learn(files); len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return types
}

func TestDialectVectors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(vectorsDir, "dialect.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []dialectCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	files := querytest.DialectFiles(t, vectorsDir)
	linked := querytest.Link(t, files)
	cosmos, plain := typesOf(t, wirejson.Cosmos, files), typesOf(t, wirejson.Plain, files)
	for i, c := range cases {
		m := dynamicpb.NewMessage(querytest.MessageType(t, linked, c.Type))
		if err := prototext.Unmarshal([]byte(c.Text), m); err != nil {
			t.Fatalf("%s: %v", c.Rule, err)
		}
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			cases[i].Wire = hex.EncodeToString(wire)
			continue
		}
		if got := hex.EncodeToString(wire); got != c.Wire {
			t.Errorf("%s: the text has the wire form %s, the vector says %s", c.Rule, got, c.Wire)
		}
		for dialect, want := range map[*wirejson.Types]any{cosmos: c.Cosmos, plain: c.Plain} {
			out, err := dialect.Encode(nil, c.Type, wire, 1<<20)
			if err != nil {
				t.Errorf("%s: %v", c.Rule, err)
				continue
			}
			if diff := cmp.Diff(want, parseJSON(t, out)); diff != "" {
				t.Errorf("%s (%s): -want +got\n%s", c.Rule, dialect.Dialect, diff)
			}
		}
	}
	if *update {
		out, err := json.MarshalIndent(cases, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(out, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func parseJSON(t testing.TB, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("not JSON: %v\n%.300s", err, b)
	}
	return v
}
