package querytest

import (
	"cmp"
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/query/protosource"
	"github.com/castalia-org/castalia/internal/service/query/upstream"
	protospec "github.com/castalia-org/castalia/spec/proto"
)

// StartPool runs a pool of these nodes until the test ends, and waits until it
// knows the services of the chain.
func StartPool(t testing.TB, cfg upstream.Config, nodes ...*Node) *upstream.Pool {
	t.Helper()
	cfg.Name = cmp.Or(cfg.Name, "main")
	cfg.Probe = cmp.Or(cfg.Probe, 20*time.Millisecond)
	for _, n := range nodes {
		cfg.Targets = append(cfg.Targets, upstream.Target{Address: n.Addr})
	}
	pool, err := upstream.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = pool.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = pool.Close()
	})
	defer func() {
		if t.Failed() {
			t.Logf("the pool: %+v", pool.View())
		}
	}()
	WaitFor(t, "the chain to be ready", func() bool { return pool.Ready() == nil })
	return pool
}

// WaitFor waits until the condition holds, or fails the test.
func WaitFor(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("waited too long for %s", what)
		}
	}
}

var _ query.Chain = (*upstream.Pool)(nil)

// ChainFiles are the descriptors of the embedded chain: a small but whole
// interface to test with.
func ChainFiles(t testing.TB) []*descriptorpb.FileDescriptorProto {
	t.Helper()
	files, err := protosource.Compile(t.Context(), protospec.Files)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
