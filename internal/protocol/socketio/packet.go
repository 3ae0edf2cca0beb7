package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
)

// PacketType is the first character of a packet.
type PacketType byte

// The packet types of protocol 5.
const (
	Connect      PacketType = '0'
	Disconnect   PacketType = '1'
	EventPacket  PacketType = '2'
	Ack          PacketType = '3'
	ConnectError PacketType = '4'
	BinaryEvent  PacketType = '5'
	BinaryAck    PacketType = '6'
)

// Bounds of one packet. Clients refuse more attachments than this.
const (
	MaxAttachments = 10
	maxNamespace   = 256
	// maxArgs bounds the arguments, with the name of an event: each costs a slice
	// header, which is twelve times the two bytes that a peer writes for it.
	maxArgs = 64
)

// ErrPacket says that a peer's bytes are no packet.
var ErrPacket = errors.New("socketio: malformed packet")

// Packet is one packet with its attachments. Args holds the elements of the
// payload of an event (its name first) or of an acknowledgement; Data the
// payload of the other types.
type Packet struct {
	Type        PacketType
	Namespace   string
	ID          uint64 // of the acknowledgement
	HasID       bool
	Data        json.RawMessage
	Args        []json.RawMessage
	Attachments [][]byte
}

// Decoder puts packets together from the messages of one connection. The state
// belongs to the connection, not to a transport: a packet may begin on polling
// and end on WebSocket.
type Decoder struct {
	// MaxBytes bounds the attachments of one packet; zero means no bound.
	MaxBytes int
	// MaxConnect bounds a CONNECT; zero means no bound.
	MaxConnect int
	// Joined says that the peer has joined a namespace. Before that nothing but a
	// CONNECT is looked at: whoever has shown nothing may make us hold nothing.
	Joined bool

	pending Packet
	wanted  int
	bytes   int
}

// Decode takes the next message. It reports false while attachments are still
// to come. After an error the decoder must not be used again.
func (d *Decoder) Decode(m engineio.Message) (Packet, bool, error) {
	connect := !m.Binary && len(m.Data) > 0 && PacketType(m.Data[0]) == Connect
	if !d.Joined && !connect {
		return Packet{}, false, fmt.Errorf("%w: something else before CONNECT", ErrPacket)
	}
	if connect && d.MaxConnect > 0 && len(m.Data) > d.MaxConnect {
		return Packet{}, false, fmt.Errorf("%w: CONNECT too large", ErrPacket)
	}
	if m.Binary {
		return d.attach(m.Data)
	}
	if d.wanted > 0 {
		return Packet{}, false, fmt.Errorf("%w: text while attachments are due", ErrPacket)
	}
	p, attachments, err := decodeText(m.Data)
	if err != nil {
		return Packet{}, false, err
	}
	if attachments > 0 {
		d.pending, d.wanted, d.bytes = p, attachments, 0
		return Packet{}, false, nil
	}
	return p, true, nil
}

// Due reports whether attachments are still to come.
func (d *Decoder) Due() bool { return d.wanted > 0 }

func (d *Decoder) attach(data []byte) (Packet, bool, error) {
	if d.wanted == 0 {
		return Packet{}, false, fmt.Errorf("%w: attachment without a packet", ErrPacket)
	}
	d.bytes += len(data)
	if d.MaxBytes > 0 && d.bytes > d.MaxBytes {
		return Packet{}, false, fmt.Errorf("%w: attachments too large", ErrPacket)
	}
	d.pending.Attachments = append(d.pending.Attachments, data)
	d.wanted--
	if d.wanted > 0 {
		return Packet{}, false, nil
	}
	p := d.pending
	d.pending = Packet{}
	return p, true, checkPlaceholders(p)
}

func decodeText(text []byte) (p Packet, attachments int, err error) {
	if len(text) == 0 || text[0] < '0' || text[0] > '6' {
		return p, 0, fmt.Errorf("%w: unknown type", ErrPacket)
	}
	p.Type = PacketType(text[0])
	rest := text[1:]
	if p.Type == BinaryEvent || p.Type == BinaryAck {
		n, after, ok := number(rest)
		if !ok || n < 1 || n > MaxAttachments || len(after) == 0 || after[0] != '-' {
			return p, 0, fmt.Errorf("%w: bad number of attachments", ErrPacket)
		}
		attachments, rest = int(n), after[1:]
	}
	p.Namespace = "/"
	if len(rest) > 0 && rest[0] == '/' {
		name, after, _ := bytes.Cut(rest, []byte{','})
		if len(name) > maxNamespace {
			return p, 0, fmt.Errorf("%w: namespace too long", ErrPacket)
		}
		p.Namespace, rest = string(name), after
	}
	if len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		id, after, ok := number(rest)
		if !ok {
			return p, 0, fmt.Errorf("%w: bad acknowledgement id", ErrPacket)
		}
		p.ID, p.HasID, rest = id, true, after
	}
	return p, attachments, p.payload(rest)
}

// payload checks what follows the header against the rules of the type.
func (p *Packet) payload(raw []byte) error {
	var ok bool
	switch p.Type {
	case Connect:
		ok = len(raw) == 0 || raw[0] == '{' && validJSON(raw)
		p.Data = raw
	case Disconnect:
		ok = len(raw) == 0
	case EventPacket, BinaryEvent:
		p.Args, ok = splitArray(raw, maxArgs)
		ok = ok && len(p.Args) > 0 && eventNameAllowed(p.Args[0])
	case Ack, BinaryAck:
		p.Args, ok = splitArray(raw, maxArgs)
		ok = ok && p.HasID
	case ConnectError:
		ok = len(raw) > 0 && (raw[0] == '{' || raw[0] == '"') && validJSON(raw)
		p.Data = raw
	}
	if !ok {
		return fmt.Errorf("%w: bad payload", ErrPacket)
	}
	return nil
}

func number(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		d := uint64(b[i] - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, nil, false
		}
		n = n*10 + d
	}
	return n, b[i:], i > 0
}

// reserved lists the event names that clients refuse.
func reserved(name string) bool {
	switch name {
	case "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener":
		return true
	}
	return false
}

func eventNameAllowed(raw json.RawMessage) bool {
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return true
	}
	return raw[0] == '"' && !reserved(unquote(raw))
}

// unquote returns the text of a valid JSON string. The common case has no
// escapes.
func unquote(raw json.RawMessage) string {
	if len(raw) < 2 || raw[0] != '"' {
		return string(raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// appendHeader adds everything of a packet but its payload.
func appendHeader(dst []byte, p Packet) []byte {
	dst = append(dst, byte(p.Type))
	if len(p.Attachments) > 0 {
		dst = strconv.AppendInt(dst, int64(len(p.Attachments)), 10)
		dst = append(dst, '-')
	}
	if p.Namespace != "/" && p.Namespace != "" {
		dst = append(dst, p.Namespace...)
		dst = append(dst, ',')
	}
	if p.HasID {
		dst = strconv.AppendUint(dst, p.ID, 10)
	}
	return dst
}

// listed reports the types whose payload is an array.
func (t PacketType) listed() bool {
	return t == EventPacket || t == Ack || t == BinaryEvent || t == BinaryAck
}

// Encode returns the frames of a packet: its text and its attachments. An event
// or acknowledgement with attachments becomes its binary form.
func Encode(p Packet) ([]engineio.Frame, error) {
	if len(p.Attachments) > MaxAttachments {
		return nil, ErrAttachments
	}
	switch {
	case len(p.Attachments) == 0:
	case p.Type == EventPacket:
		p.Type = BinaryEvent
	case p.Type == Ack:
		p.Type = BinaryAck
	}
	size := len(p.Namespace) + 32 + len(p.Data)
	for _, a := range p.Args {
		size += len(a) + 1
	}
	text := appendHeader(make([]byte, 0, size), p)
	if p.Type.listed() {
		text = append(text, '[')
		for i, a := range p.Args {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(text, a...)
		}
		text = append(text, ']')
	} else {
		text = append(text, p.Data...)
	}
	frames := make([]engineio.Frame, 0, 1+len(p.Attachments))
	frames = append(frames, engineio.NewText(text))
	for _, a := range p.Attachments {
		frames = append(frames, engineio.NewBinary(a))
	}
	return frames, nil
}
