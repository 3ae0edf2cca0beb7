package socketio_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

type packetCase struct {
	Name      string            `json:"name"`
	Canonical *bool             `json:"canonical"`
	Messages  []json.RawMessage `json:"messages"`
	Packet    *struct {
		Type        string   `json:"type"`
		Namespace   string   `json:"namespace"`
		ID          *uint64  `json:"id"`
		Data        string   `json:"data"`
		Args        []string `json:"args"`
		Attachments []string `json:"attachments"`
	} `json:"packet"`
}

func packetVectors(t testing.TB) []packetCase {
	t.Helper()
	raw, err := os.ReadFile("../../../spec/vectors/socket/packets.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []packetCase }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

func (c packetCase) messages(t testing.TB) []engineio.Message {
	t.Helper()
	var out []engineio.Message
	for _, raw := range c.Messages {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out = append(out, engineio.Message{Data: []byte(text)})
			continue
		}
		var binary struct{ Hex string }
		if err := json.Unmarshal(raw, &binary); err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(binary.Hex)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, engineio.Message{Data: data, Binary: true})
	}
	return out
}

func (c packetCase) want(t testing.TB) socketio.Packet {
	t.Helper()
	p := socketio.Packet{
		Type: socketio.PacketType(c.Packet.Type[0]), Namespace: c.Packet.Namespace, Data: json.RawMessage(c.Packet.Data),
	}
	if c.Packet.ID != nil {
		p.ID, p.HasID = *c.Packet.ID, true
	}
	for _, a := range c.Packet.Args {
		p.Args = append(p.Args, json.RawMessage(a))
	}
	for _, a := range c.Packet.Attachments {
		data, err := hex.DecodeString(a)
		if err != nil {
			t.Fatal(err)
		}
		p.Attachments = append(p.Attachments, data)
	}
	return p
}

func decodeAll(messages []engineio.Message) (p socketio.Packet, ok bool, err error) {
	d := socketio.Decoder{Joined: true}
	for _, m := range messages {
		if ok {
			return p, false, errors.New("a message too many")
		}
		if p, ok, err = d.Decode(m); err != nil {
			return p, false, err
		}
	}
	return p, ok, nil
}

func TestPacketVectors(t *testing.T) {
	t.Parallel()
	for _, c := range packetVectors(t) {
		messages := c.messages(t)
		got, ok, err := decodeAll(messages)
		if c.Packet == nil {
			if !errors.Is(err, socketio.ErrPacket) {
				t.Errorf("%s: decoded to %+v, %v; want a refusal", c.Name, got, err)
			}
			continue
		}
		if err != nil || !ok {
			t.Errorf("%s: %v, complete %v", c.Name, err, ok)
			continue
		}
		if got.Type != c.want(t).Type || !same(got, c.want(t)) {
			t.Errorf("%s: decoded to %+v", c.Name, got)
		}
		if c.Canonical != nil && !*c.Canonical {
			continue
		}
		frames, err := socketio.Encode(got)
		if err != nil {
			t.Errorf("%s: encode: %v", c.Name, err)
			continue
		}
		var want []engineio.Frame
		for _, m := range messages {
			if m.Binary {
				want = append(want, engineio.NewBinary(m.Data))
			} else {
				want = append(want, engineio.NewText(m.Data))
			}
		}
		if diff := cmp.Diff(want, frames); diff != "" {
			t.Errorf("%s: encoded (-want +got):\n%s", c.Name, diff)
		}
	}
}

func same(a, b socketio.Packet) bool {
	text := func(raw []json.RawMessage) []string {
		out := []string{}
		for _, r := range raw {
			out = append(out, string(r))
		}
		return out
	}
	bin := func(all [][]byte) []string {
		out := []string{}
		for _, r := range all {
			out = append(out, string(r))
		}
		return out
	}
	return a.Namespace == b.Namespace && a.ID == b.ID && a.HasID == b.HasID && string(a.Data) == string(b.Data) &&
		cmp.Equal(text(a.Args), text(b.Args)) && cmp.Equal(bin(a.Attachments), bin(b.Attachments))
}

func TestBounds(t *testing.T) {
	t.Parallel()
	deep := "2[\"m\"," + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "]"
	if _, _, err := decodeAll([]engineio.Message{{Data: []byte(deep)}}); !errors.Is(err, socketio.ErrPacket) {
		t.Errorf("JSON 50,000 deep: %v", err)
	}
	long := "0/" + strings.Repeat("n", 1000)
	if _, _, err := decodeAll([]engineio.Message{{Data: []byte(long)}}); !errors.Is(err, socketio.ErrPacket) {
		t.Errorf("a namespace of 1000 bytes: %v", err)
	}
	d := socketio.Decoder{MaxBytes: 10, Joined: true}
	if _, _, err := d.Decode(engineio.Message{Data: []byte(`52-["m"]`)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Decode(engineio.Message{Data: make([]byte, 11), Binary: true}); !errors.Is(err, socketio.ErrPacket) {
		t.Errorf("attachments over the limit: %v", err)
	}
	if _, err := socketio.Encode(socketio.Packet{
		Type:        socketio.EventPacket,
		Attachments: make([][]byte, 11),
	}); !errors.Is(err, socketio.ErrAttachments) {
		t.Errorf("encoding 11 attachments: %v", err)
	}
}

// FuzzDecode checks that a decoder survives any sequence of messages, that its
// JSON is JSON, and that what it took can be written and read again.
func FuzzDecode(f *testing.F) {
	for _, c := range packetVectors(f) {
		m := c.messages(f)
		if len(m) > 1 {
			f.Add(m[0].Data, m[1].Data)
		} else {
			f.Add(m[0].Data, []byte(nil))
		}
	}
	f.Fuzz(func(t *testing.T, text, binary []byte) {
		first, whole, err := new(socketio.Decoder).Decode(engineio.Message{Data: text})
		if err == nil && (!whole || first.Type != socketio.Connect) {
			t.Errorf("%q is taken before a CONNECT", text)
		}
		d := socketio.Decoder{MaxBytes: 1 << 10, Joined: true}
		p, ok, err := d.Decode(engineio.Message{Data: text})
		for range 10 {
			if err != nil || ok {
				break
			}
			p, ok, err = d.Decode(engineio.Message{Data: binary, Binary: true})
		}
		if err != nil || !ok {
			return
		}
		for _, a := range p.Args {
			if !json.Valid(a) {
				t.Errorf("%q has the argument %q", text, a)
			}
		}
		frames, err := socketio.Encode(p)
		if err != nil {
			t.Fatalf("%q cannot be written: %v", text, err)
		}
		var again socketio.Packet
		back := socketio.Decoder{Joined: true}
		for i, frame := range frames {
			m := engineio.Message{Data: engineio.FramePayload(frame), Binary: i > 0}
			if i == 0 {
				m.Data = m.Data[1:]
			}
			if again, ok, err = back.Decode(m); err != nil {
				t.Fatalf("%q is written as %q: %v", text, m.Data, err)
			}
		}
		if !ok || !same(p, again) {
			t.Errorf("%q became %+v and then %+v", text, p, again)
		}
	})
}

// FuzzJSON checks our scanner against the standard library.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\n",null,true]}`, `[]`, ` 1 `, `01`, `1.`, `"\x"`, "\"\t\"", `{"a":1,}`, `[1 2]`, `nul`, `-`, `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 100 { // below the depth bound
			return
		}
		if got, want := socketio.ValidJSON(data), json.Valid(data); got != want {
			t.Errorf("validJSON(%q) = %v, encoding/json says %v", data, got, want)
		}
		elements, ok := socketio.SplitArray(data)
		var want []json.RawMessage
		if err := json.Unmarshal(data, &want); (err == nil && want != nil) != ok {
			t.Fatalf("splitArray(%q) = %v, encoding/json says %v", data, ok, err)
		}
		if ok && len(elements) != len(want) {
			t.Errorf("splitArray(%q) has %d elements, encoding/json %d", data, len(elements), len(want))
		}
	})
}
