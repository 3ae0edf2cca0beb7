package goucanto_test

import (
	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// archive wraps a single block as a token.
func archive(block string) string {
	leaf := ipld.SumDagCBOR(block)
	variant := string(ipld.AppendCBOR(nil, ipld.MapNode(ipld.Entry{Key: "ucan@0.9.1", Value: ipld.LinkNode(leaf)})))
	root := ipld.SumDagCBOR(variant)
	return string(car.Append(nil,
		car.Archive{Roots: []string{root}, Blocks: []car.Block{{CID: leaf, Data: block}, {CID: root, Data: variant}}}))
}
