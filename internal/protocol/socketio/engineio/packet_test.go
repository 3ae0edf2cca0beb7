package engineio_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

type payloadCase struct {
	Name    string `json:"name"`
	Body    string `json:"body"`
	Packets []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
		Hex  string  `json:"hex"`
	} `json:"packets"`
}

func payloadVectors(t testing.TB) []payloadCase {
	t.Helper()
	raw, err := os.ReadFile("../../../../spec/vectors/socket/engine.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Payloads []payloadCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Payloads
}

func TestPayloadVectors(t *testing.T) {
	t.Parallel()
	for _, c := range payloadVectors(t) {
		got, err := engineio.DecodePayload([]byte(c.Body))
		if c.Packets == nil {
			if err == nil {
				t.Errorf("%s: decoded to %v, want a refusal", c.Name, got)
			}
			continue
		}
		var want []engineio.Packet
		for _, p := range c.Packets {
			data, _ := hex.DecodeString(p.Hex)
			if p.Text != nil {
				data = []byte(*p.Text)
			}
			want = append(want, engineio.Packet{Type: engineio.PacketType(p.Type[0]), Data: data})
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		} else if again := engineio.EncodePayload(got); string(again) != c.Body {
			t.Errorf("%s: written again as %q", c.Name, again)
		}
	}
}

func TestFrameHeaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size int
		head string
	}{
		{0, "8100"},
		{124, "817c"},
		{125, "817d"},
		{126, "817e007e"},
		{65535, "817effff"},
		{65536, "817f0000000000010000"},
	} {
		frame := engineio.RawText(bytes.Repeat([]byte("x"), test.size))
		head, _ := hex.DecodeString(test.head)
		if !bytes.HasPrefix(frame, head) || len(frame) != len(head)+test.size {
			t.Errorf("a payload of %d bytes has the header %x", test.size, frame[:min(len(frame), 10)])
		}
	}
}

// FuzzDecodePayload checks that what decodes is written back to the same bytes.
func FuzzDecodePayload(f *testing.F) {
	for _, c := range payloadVectors(f) {
		f.Add([]byte(c.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		packets, err := engineio.DecodePayload(body)
		if err != nil {
			return
		}
		if again := engineio.EncodePayload(packets); !bytes.Equal(again, body) {
			t.Errorf("%q is written again as %q", body, again)
		}
	})
}
