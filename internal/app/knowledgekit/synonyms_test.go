package knowledgekit_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// The operator's document is read line by line; an empty one says nothing, and a bad
// one says where.
func TestSynonymsDocument(t *testing.T) {
	t.Parallel()
	parse := knowledgekit.SynonymsDocument().Parse
	if s, err := parse([]byte(" \n"), operatordoc.FromDefault); s != nil || err != nil {
		t.Errorf("nothing: %v, %v", s, err)
	}
	if s, err := parse([]byte("# ours\nclinic, dispensary\nMP => member of parliament\n"), operatordoc.FromDefault); err != nil || s.Lines() != 2 {
		t.Errorf("two lines: %v, %v", s, err)
	}
	if _, err := parse([]byte("clinic, dispensary\nalone\n"), operatordoc.FromDefault); !fault.Is(err, fault.Invalid) {
		t.Errorf("a line that says nothing: %v", err)
	}
}
