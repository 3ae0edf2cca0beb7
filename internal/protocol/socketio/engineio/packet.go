package engineio

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// PacketType is the first character of a packet.
type PacketType byte

// The packet types of protocol 4.
const (
	Open    PacketType = '0'
	Close   PacketType = '1'
	Ping    PacketType = '2'
	Pong    PacketType = '3'
	Text    PacketType = '4'
	Upgrade PacketType = '5'
	Noop    PacketType = '6'
	// Binary is a message of bytes. Over WebSocket it is a binary frame; in text
	// it is this letter and base64.
	Binary PacketType = 'b'
)

// ErrPacket says that bytes are no packet.
var ErrPacket = errors.New("engineio: malformed packet")

// Packet is one decoded packet. Data aliases what it was decoded from, except
// for binary.
type Packet struct {
	Type PacketType
	Data []byte
}

// separator stands between the packets of a polling payload.
const separator = 0x1e

// DecodePacket reads one packet in text form.
func DecodePacket(text []byte) (Packet, error) {
	if len(text) == 0 || !utf8.Valid(text) {
		return Packet{}, ErrPacket
	}
	p := Packet{Type: PacketType(text[0]), Data: text[1:]}
	switch p.Type {
	case Open, Close, Ping, Pong, Text, Upgrade, Noop:
		return p, nil
	case Binary:
		data := make([]byte, base64.StdEncoding.DecodedLen(len(p.Data)))
		n, err := base64.StdEncoding.Strict().Decode(data, p.Data)
		if err != nil || bytes.ContainsAny(p.Data, "\r\n") {
			return Packet{}, ErrPacket
		}
		return Packet{Type: Binary, Data: data[:n]}, nil
	}
	return Packet{}, ErrPacket
}

// DecodePayload reads the packets of a polling body. It is all or nothing.
func DecodePayload(body []byte) ([]Packet, error) {
	packets := make([]Packet, 0, bytes.Count(body, []byte{separator})+1)
	for {
		text, rest, more := bytes.Cut(body, []byte{separator})
		p, err := DecodePacket(text)
		if err != nil {
			return nil, err
		}
		packets = append(packets, p)
		if !more {
			return packets, nil
		}
		body = rest
	}
}

// Frame is one packet as it goes out, ready for every transport: the bytes of
// an unmasked WebSocket frame. A frame may be shared by many sessions and must
// not be changed.
type Frame []byte

const (
	finalText   = 0x81
	finalBinary = 0x82
	finalClose  = 0x88
	finalPong   = 0x8a
)

// NewText frames a text message: the concatenation of its parts.
func NewText(parts ...[]byte) Frame { return newFrame(finalText, "4", parts...) }

// NewBinary frames a binary message.
func NewBinary(data []byte) Frame { return newFrame(finalBinary, "", data) }

// newFrame builds a WebSocket frame whose payload is head followed by parts.
func newFrame(first byte, head string, parts ...[]byte) Frame {
	size := len(head)
	for _, p := range parts {
		size += len(p)
	}
	f := make(Frame, 2, 10+size)
	switch {
	case size < 126:
		f[1] = byte(size)
	case size < 1<<16:
		f[1] = 126
		f = binary.BigEndian.AppendUint16(f, uint16(size))
	default:
		f[1] = 127
		f = binary.BigEndian.AppendUint64(f, uint64(size))
	}
	f[0] = first
	f = append(f, head...)
	for _, p := range parts {
		f = append(f, p...)
	}
	return f
}

// payload is the frame without its WebSocket header.
func (f Frame) payload() []byte {
	switch f[1] {
	case 126:
		return f[4:]
	case 127:
		return f[10:]
	}
	return f[2:]
}

// FramePayload returns a frame's packet without the WebSocket header.
func FramePayload(f Frame) []byte { return f.payload() }

func (f Frame) binary() bool { return f[0] == finalBinary }

// control reports a WebSocket control frame, which means nothing to polling.
func (f Frame) control() bool { return f[0] == finalPong || f[0] == finalClose }

// appendText adds the packet's text form.
func (f Frame) appendText(dst []byte) []byte {
	if f.binary() {
		return base64.StdEncoding.AppendEncode(append(dst, byte(Binary)), f.payload())
	}
	return append(dst, f.payload()...)
}

// asText is the frame for a session that takes no binary frames.
func (f Frame) asText() Frame {
	if !f.binary() {
		return f
	}
	return newFrame(finalText, "", f.appendText(nil))
}

// appendPayload adds frames as a polling payload.
func appendPayload(dst []byte, frames []Frame) []byte {
	for _, f := range frames {
		if f.control() {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, separator)
		}
		dst = f.appendText(dst)
	}
	return dst
}
