package wirejson_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/castalia-org/castalia/internal/service/query/querytest"
	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// claimList is the wire form of a reply with a hundred claims.
func claimList(b *testing.B, files []*descriptorpb.FileDescriptorProto) *dynamicpb.Message {
	b.Helper()
	list := dynamicpb.NewMessage(querytest.MessageType(b, querytest.Link(b, files), "ixo.claims.v1beta1.QueryClaimListResponse"))
	const claim = `claims { collection_id: "1" agent_did: "did:ixo:alice" agent_address: "ixo19dh2w7nuy4gcezzepz905dncag7gwas5htymxl"
		submission_date { seconds: 1735689600 nanos: 123456789 } claim_id: "bafkrei00328ce57bbc14b33bd6695bc8eb32cdf2fb5f3a7d89ec"
		evaluation { claim_id: "bafkrei00328ce57bbc14b33bd6695bc8eb32cdf2fb5f3a7d89ec" collection_id: "1" status: APPROVED
			evaluation_date { seconds: 1735689600 } amount { denom: "uixo" amount: "1000000" } }
		payments_status { submission: PAID } amount { denom: "uixo" amount: "5000000" } }`
	for range 100 {
		one := dynamicpb.NewMessage(list.Descriptor())
		if err := prototext.Unmarshal([]byte(claim), one); err != nil {
			b.Fatal(err)
		}
		proto.Merge(list, one)
	}
	return list
}

// BenchmarkEncode writes a reply of a hundred claims; the ratio is against
// decoding it into a message and writing that with protojson.
func BenchmarkEncode(b *testing.B) {
	files := querytest.ChainFiles(b)
	list := claimList(b, files)
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(list) // in the order of generated code
	if err != nil {
		b.Fatal(err)
	}
	c := typesOf(b, wirejson.Cosmos, files)
	var ours, theirs float64
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(wire)))
		var out []byte
		for b.Loop() {
			var err error
			if out, err = c.Encode(out[:0], string(list.Descriptor().FullName()), wire, 1<<26); err != nil {
				b.Fatal(err)
			}
		}
		ours = float64(b.Elapsed()) / float64(b.N)
	})
	b.Run("protojson", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(wire)))
		options := protojson.MarshalOptions{EmitUnpopulated: true, UseProtoNames: true}
		for b.Loop() {
			m := dynamicpb.NewMessage(list.Descriptor())
			if err := proto.Unmarshal(wire, m); err != nil {
				b.Fatal(err)
			}
			if _, err := options.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
		theirs = float64(b.Elapsed()) / float64(b.N)
		b.ReportMetric(theirs/ours, "x-slower-than-ours")
	})
}
