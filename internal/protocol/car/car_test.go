package car_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

func sample() car.Archive {
	a := car.Archive{}
	for _, text := range []string{"one", "two"} {
		block := string(ipld.AppendCBOR(nil, ipld.TextNode(text)))
		a.Blocks = append(a.Blocks, car.Block{CID: ipld.SumDagCBOR(block), Data: block})
	}
	a.Roots = []string{a.Blocks[1].CID}
	return a
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := sample()
	got, err := car.Read(string(car.Append(nil, want)), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
	if data, ok := got.Find(want.Roots[0]); !ok || data != want.Blocks[1].Data {
		t.Error("the root is not found")
	}
	if _, ok := got.Find("nothing"); ok {
		t.Error("found what is not there")
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	good := string(car.Append(nil, sample()))
	mixed := sample()
	mixed.Blocks[0].Data = mixed.Blocks[1].Data
	unknown := sample()
	unknown.Blocks[0].CID = "\x01\x71\x1b\x20" + unknown.Blocks[0].CID[4:] // keccak-256
	noRoots := sample()
	noRoots.Roots = nil
	tests := map[string]struct {
		data string
		want error
	}{
		"nothing":                {"", car.ErrMalformed},
		"junk":                   {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", car.ErrMalformed},
		"half a header":          {good[:10], car.ErrMalformed},
		"half a block":           {good[:len(good)-1], car.ErrMalformed},
		"zeros behind":           {good + "\x00", car.ErrMalformed},
		"one block too many":     {good + good[len(good)-41:], car.ErrMalformed},
		"block under other CID":  {string(car.Append(nil, mixed)), car.ErrMismatch},
		"hash we cannot compute": {string(car.Append(nil, unknown)), car.ErrMalformed},
		"no roots":               {string(car.Append(nil, noRoots)), car.ErrMalformed},
		"section without a CID":  {good + "\x02ab", car.ErrMalformed},
	}
	for name, test := range tests {
		if _, err := car.Read(test.data, 2); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(car.Append(nil, sample()))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := car.Read(string(data), 8)
		if err != nil {
			return
		}
		if len(a.Roots) == 0 || len(a.Blocks) > 8 {
			t.Fatalf("%d roots, %d blocks", len(a.Roots), len(a.Blocks))
		}
		if again, err := car.Read(string(car.Append(nil, a)), 8); err != nil || len(again.Blocks) != len(a.Blocks) {
			t.Fatalf("not read again: %v", err)
		}
	})
}
