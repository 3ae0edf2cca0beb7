// Package protospec carries the .proto files of the embedded query node, so
// that the program can read its own interface at start.
package protospec

import "embed"

// Files holds every .proto file under its import path.
//
//go:embed cosmos cosmos_proto ixo
var Files embed.FS
