package blobtest_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
)

func TestAHealthyFaultyStoreKeepsTheContract(t *testing.T) {
	t.Parallel()
	blobtest.Contract(t, func(*testing.T) blob.Store { return blobtest.NewFaulty(blobmem.New()) })
}

func TestFaultyFailsByItsPlan(t *testing.T) {
	t.Parallel()
	f := blobtest.NewFaulty(blobmem.New())
	put := func() error {
		_, err := f.Put(t.Context(), "k", bytes.NewReader(make([]byte, 100)), blob.PutOptions{})
		return err
	}
	plan := blobtest.Healthy()
	plan.PutAfter = 50
	f.Set(plan)
	if err := put(); !errors.Is(err, blobtest.ErrInjected) {
		t.Errorf("short write: %v", err)
	}
	plan = blobtest.Healthy()
	plan.PutLost = true
	f.Set(plan)
	if err := put(); !errors.Is(err, blobtest.ErrInjected) {
		t.Errorf("lost answer: %v", err)
	}
	plan = blobtest.Healthy()
	plan.Flip = 7
	f.Set(plan)
	r, err := f.Get(t.Context(), "k", 5, 10)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(r)
	if want := append([]byte{0, 0, 1}, make([]byte, 7)...); !bytes.Equal(got, want) {
		t.Errorf("flipped %v", got)
	}
}
