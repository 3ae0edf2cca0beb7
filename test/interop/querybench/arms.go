package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/queryhttp"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
	tendermint "github.com/castalia-org/castalia/test/interop/querybench/baseline/cosmos/base/tendermint/v1beta1"
	coin "github.com/castalia-org/castalia/test/interop/querybench/baseline/cosmos/base/v1beta1"
	claims "github.com/castalia-org/castalia/test/interop/querybench/baseline/ixo/claims/v1beta1"
	entity "github.com/castalia-org/castalia/test/interop/querybench/baseline/ixo/entity/v1beta1"
	iid "github.com/castalia-org/castalia/test/interop/querybench/baseline/ixo/iid/v1beta1"
)

// node answers from messages that were made once.
type node struct {
	entity.UnimplementedQueryServer
	tendermint.UnimplementedServiceServer
	one *entity.QueryEntityResponse
}

type claimsNode struct {
	claims.UnimplementedQueryServer
	list *claims.QueryClaimListResponse
}

func (n *node) Entity(ctx context.Context, _ *entity.QueryEntityRequest) (*entity.QueryEntityResponse, error) {
	return n.one, withHeight(ctx)
}

func (n *node) GetSyncing(ctx context.Context,
	_ *tendermint.GetSyncingRequest,
) (*tendermint.GetSyncingResponse, error) {
	return &tendermint.GetSyncingResponse{}, withHeight(ctx)
}

func (n *claimsNode) ClaimList(ctx context.Context,
	_ *claims.QueryClaimListRequest,
) (*claims.QueryClaimListResponse, error) {
	return n.list, withHeight(ctx)
}

func withHeight(ctx context.Context) error {
	return grpc.SetHeader(ctx, metadata.Pairs("x-cosmos-block-height", "1000"))
}

func runNode(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	n := &node{one: sampleEntity()}
	entity.RegisterQueryServer(server, n)
	tendermint.RegisterServiceServer(server, n)
	claims.RegisterQueryServer(server, &claimsNode{list: sampleClaims()})
	reflection.Register(server)
	context.AfterFunc(ctx, server.Stop)
	fmt.Println(listener.Addr())
	return server.Serve(listener)
}

// runGenerated is the gateway that grpc-gateway generates, with its usual
// settings but the names of the .proto files.
func runGenerated(ctx context.Context, target string) error {
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return err
	}
	mux := runtime.NewServeMux(runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.JSONPb{
		MarshalOptions: protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true},
	}))
	if err := entity.RegisterQueryHandler(ctx, mux, conn); err != nil {
		return err
	}
	if err := claims.RegisterQueryHandler(ctx, mux, conn); err != nil {
		return err
	}
	return serveHTTP(ctx, mux)
}

// runOurs is the gateway as the program mounts it, on the same HTTP server.
func runOurs(ctx context.Context, target string, cached bool) error {
	pool, err := upstream.New(ctx, upstream.Config{Name: "bench", Targets: []upstream.Target{{Address: target}}})
	if err != nil {
		return err
	}
	go func() { _ = pool.Run(ctx) }()
	for pool.Ready() != nil {
		time.Sleep(10 * time.Millisecond)
	}
	cfg := query.Config{CacheBytes: -1}
	if cached {
		cfg.CacheBytes = 64 << 20
	}
	surface, err := queryhttp.Surface(query.New([]query.Chain{pool}, cfg), queryhttp.Options{})
	if err != nil {
		return err
	}
	server, err := httpserver.New(httpserver.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := server.Mount(surface); err != nil {
		return err
	}
	return serveHTTP(ctx, server)
}

func serveHTTP(ctx context.Context, h http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// sampleEntity is about 1.7 KB of JSON.
func sampleEntity() *entity.QueryEntityResponse {
	at := timestamppb.New(time.Unix(1735689600, 0))
	const id = "did:ixo:entity:1"
	return &entity.QueryEntityResponse{
		Entity: &entity.Entity{
			Id: id, Type: "protocol", StartDate: at, RelayerNode: "did:ixo:entity:relayer", EntityVerified: true,
			Metadata: &entity.EntityMetadata{VersionId: "1f0e3dad99908345f7439f8ffabdffc4", Created: at, Updated: at},
			Accounts: []*entity.EntityAccount{{Name: "admin", Address: "ixo19dh2w7nuy4gcezzepz905dncag7gwas5htymxl"}},
		},
		IidDocument: &iid.IidDocument{
			Id: id, Controller: []string{"did:ixo:alice"},
			VerificationMethod: []*iid.VerificationMethod{{
				Id: id + "#key", Type: "EcdsaSecp256k1VerificationKey2019", Controller: id,
				Material: &iid.VerificationMethod_PublicKeyHex{PublicKeyHex: "02a1633cafcc01ebfb6d78e39f687a1f0995c62fc95f51ead10a02ee0be551b5dc"},
			}},
			Service:        []*iid.Service{{Id: "{id}#api", Type: "oracleService", ServiceEndpoint: "https://oracle.example"}},
			Authentication: []string{id + "#key"},
			LinkedResource: []*iid.LinkedResource{{
				Type: "Settings", Id: "{id}#profile", Description: "Profile", MediaType: "application/ld+json",
				ServiceEndpoint: "ipfs:bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", Proof: "bafkrei", Encrypted: "false",
			}},
			Metadata: &iid.IidMetadata{VersionId: "1f0e3dad99908345f7439f8ffabdffc4", Created: at, Updated: at},
		},
	}
}

// sampleClaims is a hundred claims, about 90 KB of JSON.
func sampleClaims() *claims.QueryClaimListResponse {
	at := timestamppb.New(time.Unix(1735689600, 123456789))
	list := &claims.QueryClaimListResponse{}
	for i := range 100 {
		id := "bafkrei" + strconv.Itoa(100000+i) + "ce57bbc14b33bd6695bc8eb32cdf2fb5f3a7d89ec"
		list.Claims = append(list.Claims, &claims.Claim{
			CollectionId: "1", AgentDid: "did:ixo:alice", AgentAddress: "ixo19dh2w7nuy4gcezzepz905dncag7gwas5htymxl",
			SubmissionDate: at, ClaimId: id,
			Evaluation: &claims.Evaluation{
				ClaimId: id, CollectionId: "1", Oracle: "did:ixo:entity:oracle", AgentDid: "did:ixo:bob",
				AgentAddress: "ixo1zkzclzal6jz7ps76j3m2lpl7gpqhp23958xpaa", Status: claims.EvaluationStatus_APPROVED,
				VerificationProof: "bafkreiproof" + strconv.Itoa(i), EvaluationDate: at,
				Amount: []*coin.Coin{{Denom: "uixo", Amount: "1000000"}},
			},
			PaymentsStatus: &claims.ClaimPayments{
				Submission: claims.PaymentStatus_PAID, Approval: claims.PaymentStatus_AUTHORIZED,
			},
			Amount: []*coin.Coin{{Denom: "uixo", Amount: "5000000"}},
		})
	}
	return list
}
