package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

func TestAnUnclassifiedErrorShowsNothing(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("query accounts: %w", errors.New("password is hunter2"))
	got := fault.From(err)
	if got.Kind != fault.Internal || strings.Contains(got.Message, "hunter2") {
		t.Errorf("shown: %q as %v", got.Message, got.Kind)
	}
	if !strings.Contains(got.Error(), "hunter2") || !errors.Is(got, err) {
		t.Errorf("the log must still know: %q", got.Error())
	}
}

func TestAKindSurvivesWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("no rows")
	err := fmt.Errorf("open session: %w", fault.Wrap(fault.NotFound, "Session not found", cause))
	if !fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) || !errors.Is(err, cause) {
		t.Errorf("lost on the way: %v", err)
	}
	if fault.Is(nil, fault.Internal) || fault.From(nil) != nil {
		t.Error("no error is no fault")
	}
}

func TestEndedContextsAreTheirOwnKinds(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]fault.Kind{
		context.Canceled:         fault.Canceled,
		context.DeadlineExceeded: fault.Timeout,
	} {
		if got := fault.KindOf(fmt.Errorf("read: %w", err)); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

// TestAdditionsAreCopies guards package-level faults: an addition for one
// request must not be seen by the next.
func TestAdditionsAreCopies(t *testing.T) {
	t.Parallel()
	base := fault.New(fault.Conflict, "The file has changed").WithField("version", 1)
	added := base.WithField("cid", "bafy").WithCode("changed").WithRetryAfter(time.Second)
	if len(base.Fields) != 1 || base.Code != "" || base.RetryAfter != 0 {
		t.Errorf("the original changed: %+v", base)
	}
	if added.Fields["version"] != 1 || added.Fields["cid"] != "bafy" || added.Code != "changed" ||
		added.RetryAfter != time.Second {
		t.Errorf("lost: %+v", added)
	}
}

func TestEveryKindHasAName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, kind := range fault.Kinds() {
		if name := kind.String(); name == "" || seen[name] || strings.HasPrefix(name, "kind(") {
			t.Errorf("kind %d is called %q", kind, name)
		} else {
			seen[name] = true
		}
	}
	if got := fault.Kind(200).String(); got != "kind(200)" {
		t.Errorf("an unknown kind is %q", got)
	}
}

func TestAWordIsTheCodeOrTheKind(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]*fault.Error{
		"link_over": fault.New(fault.Gone, "x").WithCode("link_over"),
		"gone":      fault.New(fault.Gone, "x"),
		"internal":  fault.New(fault.Internal, "x").WithCode("panic"), // nobody is told more
	} {
		if got := e.Word(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
