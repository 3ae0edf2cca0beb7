package blobmem_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	blobtest.Contract(t, func(*testing.T) blob.Store { return blobmem.New() })
}
