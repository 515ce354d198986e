package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec is the protobuf codec of a server that sends Frames: these pass through
// as they are, everything else is marshalled as usual. Install it with
// grpc.ForceServerCodecV2.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Marshal returns the message's bytes.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if f, ok := v.(*Frame); ok {
		return f.data, nil
	}
	return encoding.GetCodecV2(proto.Name).Marshal(v)
}

// Unmarshal reads a protobuf message.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
}

// Name is that of the standard codec: the bytes are the same.
func (Codec) Name() string { return proto.Name }
