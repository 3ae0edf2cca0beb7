package ratelimit_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	a, b := ratelimit.KeyOf("a"), ratelimit.KeyOf("b")
	p := ratelimit.NewPlaces(2)
	for i, want := range []bool{true, true, false} {
		if got := p.Enter(a); got != want {
			t.Errorf("entry %d: %v", i, got)
		}
	}
	if !p.Enter(b) {
		t.Error("somebody else found no place")
	}
	p.Leave(a)
	if !p.Enter(a) || p.Enter(a) {
		t.Error("one place was given back, and one was to be had")
	}
	for _, none := range []*ratelimit.Places{nil, ratelimit.NewPlaces(0)} {
		for range 10 {
			if !none.Enter(a) {
				t.Error("no limit refuses")
			}
		}
		none.Leave(a)
	}
}
