package recent_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/recent"
)

func TestMapIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	m := recent.New[int, string](100)
	m.Put(-1, "in use", time.Time{}, 1)
	for i := range 10_000 {
		m.Put(i, "flood", now.Add(time.Minute), 1)
		if v, ok := m.Get(-1, now); !ok || v != "in use" {
			t.Fatalf("after %d entries what is in use is gone", i)
		}
		if n := m.Len(); n > 101 {
			t.Fatalf("%d entries are held", n)
		}
	}
}

func TestMapForgetsInTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	m := recent.New[string, int](10)
	m.Put("k", 1, now.Add(time.Second), 1)
	if _, ok := m.Get("k", now.Add(time.Second-1)); !ok {
		t.Error("forgotten too early")
	}
	if _, ok := m.Get("k", now.Add(time.Second)); ok {
		t.Error("remembered too long")
	}
}

func TestMapCountsCosts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	m := recent.New[int, int](100)
	for i := range 1000 {
		m.Put(i, i, time.Time{}, 25)
		m.Put(i, i, time.Time{}, 20) // replaces, and does not add up
		if n := m.Len(); n > 4 {
			t.Fatalf("%d entries of 20 in a budget of 100", n)
		}
	}
	if _, ok := m.Get(999, now); !ok {
		t.Error("the newest is gone")
	}
	m.Put(-1, 0, time.Time{}, 51)
	if _, ok := m.Get(-1, now); ok {
		t.Error("what costs more than half the budget is remembered")
	}
}
