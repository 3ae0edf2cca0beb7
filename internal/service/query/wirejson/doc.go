// Package wirejson writes the wire form of protobuf messages as JSON, and reads
// JSON into it.
//
// It promises that no message object is built on the way out: each message type
// is compiled once, from its descriptor, into a plan that an encoder follows.
// Two dialects are written: that of the Cosmos gateways (Cosmos) and plain
// proto3 JSON (Plain). Types holds the descriptors and their plans, Schemas says
// in JSON Schema what is written.
//
// It refuses to trust its input: bytes that do not fit their descriptor are
// ErrMalformed, nesting and the size of the output are bounded, and a descriptor
// that only borrows a well-known name is an ordinary message.
//
// Decision: ADR 0035.
package wirejson
