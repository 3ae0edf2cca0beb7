package agent_test

import (
	"encoding/json"
	"strconv"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
)

// TestSchemasRememberOnlyTheGood asks twice for each schema, from several turns
// at a time: a good one stays good, a bad one is never taken for one.
func TestSchemasRememberOnlyTheGood(t *testing.T) {
	t.Parallel()
	var schemas agent.Schemas
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 1000 {
				good := json.RawMessage(`{"type":"object","properties":{"p` + strconv.Itoa(i%50) + `":{"type":"string"}}}`)
				bad := json.RawMessage(`{"type":"object","properties":{"p":{"$ref":"#/nowhere` + strconv.Itoa(i%3) + `"}}}`)
				if err := schemas.Check(good); err != nil {
					t.Errorf("%s: %v", good, err)
				}
				if i%500 == 0 && schemas.Check(bad) == nil {
					t.Errorf("%s was taken", bad)
				}
			}
		})
	}
	group.Wait()
}
