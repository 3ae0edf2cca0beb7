package upstream

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// rawMessage is a message that stays bytes.
type rawMessage struct {
	data   []byte
	buffer mem.Buffer
}

// free gives the bytes of a reply back to gRPC.
func (m *rawMessage) free() {
	if m.buffer != nil {
		m.buffer.Free()
		m.buffer, m.data = nil, nil
	}
}

// rawCodec moves bytes as they are. It calls itself proto, which is what they
// are on the other side.
type rawCodec struct{ pool mem.BufferPool }

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*rawMessage)
	if !ok {
		return nil, fmt.Errorf("marshal %T: not raw", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*rawMessage)
	if !ok {
		return fmt.Errorf("unmarshal %T: not raw", v)
	}
	m.buffer = data.MaterializeToBuffer(c.pool)
	m.data = m.buffer.ReadOnlyData()
	return nil
}

var _ encoding.CodecV2 = rawCodec{}

// messageCodec is for the few calls that use generated messages: reflection.
type messageCodec struct{}

func (messageCodec) Name() string { return "proto" }

func (messageCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("marshal %T: not a message", v)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (messageCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("unmarshal %T: not a message", v)
	}
	return proto.Unmarshal(data.Materialize(), m)
}

func protoCodec() grpc.CallOption { return grpc.ForceCodecV2(messageCodec{}) }
