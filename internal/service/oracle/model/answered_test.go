package model_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// two has two models.
type two struct{ model.Provider }

func (two) Models() []model.Info { return []model.Info{{ID: "big"}, {ID: "small"}} }

// A model that stood in for another is the one that is counted; a name that only the
// endpoint knows is the model that was asked.
func TestWhoStoodInIsCounted(t *testing.T) {
	t.Parallel()
	for _, asked := range []model.Info{{ID: "big"}, {ID: "small"}} {
		for said, want := range map[string]string{"small": "small", "big": "big", "small-2026-08-07": asked.ID, "": asked.ID} {
			if got := model.Answered(two{}, asked, said); got.ID != want {
				t.Errorf("asked %s, said %q: %s", asked.ID, said, got.ID)
			}
		}
	}
}
