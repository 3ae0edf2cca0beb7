package identitytest_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	identitytest.TestStore(t, func(*testing.T) identity.Store { return identitytest.NewStore() })
}
