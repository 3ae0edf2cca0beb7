package ipld_test

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

func TestDecodeAcceptsOneSpelling(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"00": nil, "17": nil, "1818": nil, "1bffffffffffffffff": nil, "3bffffffffffffffff": nil, "20": nil,
		"f4": nil, "f5": nil, "f6": nil, "40": nil, "60": nil, "80": nil, "a0": nil, "fb3fe0000000000000": nil,
		"a2616101616202":              nil,
		"a261620161616103":            ipld.ErrNonCanonical, // unsorted
		"a262616101616201":            ipld.ErrNonCanonical, // longer key first
		"a2616101616102":              ipld.ErrMalformed,    // twice
		"a1612f6178":                  ipld.ErrNonCanonical, // signed as a link
		"a1612fa165627974657360":      ipld.ErrNonCanonical, // signed as bytes
		"a2612f01616101":              ipld.ErrNonCanonical,
		"1817":                        ipld.ErrNonCanonical,
		"190018":                      ipld.ErrNonCanonical,
		"1a0000ffff":                  ipld.ErrNonCanonical,
		"5801ff":                      ipld.ErrNonCanonical,
		"f93c00":                      ipld.ErrNonCanonical, // half float
		"fa3fc00000":                  ipld.ErrNonCanonical, // single float
		"fb3ff0000000000000":          ipld.ErrNonCanonical, // 1.0
		"fb8000000000000000":          ipld.ErrNonCanonical, // -0
		"fb7ff8000000000000":          ipld.ErrMalformed,    // NaN
		"fb7ff0000000000000":          ipld.ErrMalformed,    // infinity
		"f7":                          ipld.ErrMalformed,    // undefined
		"f0":                          ipld.ErrMalformed,
		"f818":                        ipld.ErrMalformed,
		"5f":                          ipld.ErrMalformed, // indefinite
		"9f":                          ipld.ErrMalformed,
		"bf":                          ipld.ErrMalformed,
		"0000":                        ipld.ErrMalformed, // trailing
		"61":                          ipld.ErrMalformed, // cut off
		"61ff":                        ipld.ErrMalformed, // not UTF-8
		"a10001":                      ipld.ErrMalformed, // key is no text
		"c100":                        ipld.ErrMalformed, // other tag
		"d82a00":                      ipld.ErrMalformed,
		"d82a40":                      ipld.ErrMalformed,
		"d82a4101":                    ipld.ErrMalformed,
		"9bffffffffffffffff":          ipld.ErrMalformed,
		"bb7fffffffffffffff":          ipld.ErrMalformed,
		"7bffffffffffffffff":          ipld.ErrMalformed,
		"":                            ipld.ErrMalformed,
		strings.Repeat("81", 40) + "": ipld.ErrMalformed,
	}
	for text, want := range tests {
		block, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ipld.Decode(string(block))
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if err == nil && string(ipld.AppendCBOR(nil, n)) != string(block) {
			t.Errorf("%s encodes to %x", text, ipld.AppendCBOR(nil, n))
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("\x81", ipld.MaxDepth) + "\x00"
	if _, err := ipld.Decode(deep); err != nil {
		t.Errorf("depth %d: %v", ipld.MaxDepth, err)
	}
	if _, err := ipld.Decode("\x81" + deep); !errors.Is(err, ipld.ErrMalformed) {
		t.Errorf("one deeper: %v", err)
	}
	wide := "\x99\x40\x01" + strings.Repeat("\x00", 0x4001)
	if _, err := ipld.Decode(wide); !errors.Is(err, ipld.ErrMalformed) {
		t.Errorf("too many values: %v", err)
	}
}

func TestJSONIsThatOfJavaScript(t *testing.T) {
	t.Parallel()
	float := func(f float64) ipld.Node { return ipld.Node{Kind: ipld.Float, Num: math.Float64bits(f)} }
	tests := []struct {
		node ipld.Node
		want string
	}{
		{ipld.Node{}, "null"},
		{ipld.Node{Kind: ipld.Bool, Num: 1}, "true"},
		{ipld.IntNode(-7), "-7"},
		{ipld.IntNode(math.MinInt64), "-9223372036854775808"},
		{ipld.Node{Kind: ipld.Int, Num: math.MaxUint64}, "18446744073709551615"},
		{ipld.Node{Kind: ipld.Int, Negative: true, Num: math.MaxUint64}, "-18446744073709551616"},
		{float(0.1), "0.1"},
		{float(1e21), "1e+21"},
		{float(1e-7), "1e-7"},
		{float(0.000001), "0.000001"},
		{float(1.5e300), "1.5e+300"},
		{float(-2.5e-10), "-2.5e-10"},
		{float(1 << 60), "1152921504606847000.0"},
		{float(5e-324), "5e-324"},
		{ipld.TextNode("\b\f\n\r\t\"\\/<>&\x00\x1f\x7f\u2028\u2029é🜚"), `"\b\f\n\r\t\"\\/<>&\u0000\u001f` + "\x7f\u2028\u2029é🜚\""},
		{ipld.BytesNode("\x01\x02"), `{"/":{"bytes":"AQI"}}`},
		{ipld.ListNode(), "[]"},
		{ipld.ListNode(ipld.IntNode(1), ipld.IntNode(2)), "[1,2]"},
		{ipld.MapNode(), "{}"},
		// In UTF-16 the astral character begins with D800, before U+FFFD.
		{
			ipld.MapNode(ipld.Entry{Key: "\uFFFD"}, ipld.Entry{Key: "\U00010000"}, ipld.Entry{Key: "bb"}, ipld.Entry{Key: "a"}),
			"{\"a\":null,\"bb\":null,\"\U00010000\":null,\"\uFFFD\":null}",
		},
	}
	for _, test := range tests {
		if got := string(ipld.AppendJSON(nil, test.node)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
		n, err := ipld.DecodeJSON([]byte(test.want))
		if err != nil {
			t.Errorf("read %s: %v", test.want, err)
			continue
		}
		if got := string(ipld.AppendJSON(nil, n)); got != test.want && test.node.Kind != ipld.Int &&
			test.node.Kind != ipld.Float {
			t.Errorf("%s was read as %s", test.want, got)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{", "1 2", `{"/":1}`, `{"/":"x"}`, `{"/":"x","y":1}`, `{"/":{"bytes":1}}`, `{"/":{"bytes":"*"}}`, "1e999",
		strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		if n, err := ipld.DecodeJSON([]byte(text)); !errors.Is(err, ipld.ErrMalformed) {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
}

func TestCIDText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"bafyreifsmqjlt4ujwvrmsmvlfl6n5rbxvlbj5x4hofaalkg7tldoenu6wy", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
		"QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
	} {
		id, err := ipld.ParseCID(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ipld.CIDText(id); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
	other, err := ipld.ParseCID("zb2rhmy65F3REf8SZp7De11gxtECBGgUKaLdiDj7MCGCHxbDW")
	if err != nil || ipld.CIDText(other) != "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku" {
		t.Errorf("base58: %v", err)
	}
	if ipld.CIDText("junk") != "" {
		t.Error("junk has a CID text")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"\xa1\x61a\x01", "\x82\xf6\xfb\x3f\xe0\x00\x00\x00\x00\x00\x00", "\xa1\x61/\x67bafkqaa", "\xd8\x2a\x40", "\x9b\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ipld.Decode(string(data))
		if err != nil {
			if !errors.Is(err, ipld.ErrMalformed) && !errors.Is(err, ipld.ErrNonCanonical) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if again := ipld.AppendCBOR(nil, n); string(again) != string(data) {
			t.Fatalf("%x was accepted and encodes to %x", data, again)
		}
		// What is signed is this text: two blocks that have it in common would be one
		// statement with two names.
		signed := ipld.AppendJSON(nil, n)
		if m, err := ipld.DecodeJSON(signed); err == nil && string(ipld.AppendCBOR(nil, m)) != string(data) {
			t.Fatalf("%x is signed as %s, and so is %x", data, signed, ipld.AppendCBOR(nil, m))
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2,0.5,1e21,"x",null,true]}`, `{"/":{"bytes":"AQI"}}`, `{"/":"bafkqaaa"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ipld.DecodeJSON(data)
		if err != nil {
			return
		}
		first := ipld.AppendJSON(nil, n)
		m, err := ipld.DecodeJSON(first)
		if err != nil {
			t.Fatalf("%s is not read again: %v", first, err)
		}
		if diff := cmp.Diff(string(first), string(ipld.AppendJSON(nil, m))); diff != "" {
			t.Fatalf("not stable:\n%s", diff)
		}
	})
}
