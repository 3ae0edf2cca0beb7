package localchain

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// orderedCodec writes the fields of a message by their numbers, as generated
// code does: messages without generated code have them in a random order
// otherwise, which makes equal replies different and the gateway's way longer.
type orderedCodec struct{}

var _ encoding.CodecV2 = orderedCodec{}

// Name is that of the wire format.
func (orderedCodec) Name() string { return "proto" }

// Marshal writes a message.
func (orderedCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal %T: not a message", v)
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(wire)}, nil
}

// Unmarshal reads a message.
func (orderedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("unmarshal %T: not a message", v)
	}
	return proto.Unmarshal(data.Materialize(), m)
}
