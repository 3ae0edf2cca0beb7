package ratelimit

import (
	"context"
	"testing"
	"testing/synctest"
)

// Of one key so many work at a time; another key's does not wait for them, nor does
// whoever leaves the queue.
func TestSlotsAreOfEachKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2)
		first, err := s.Take(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		second, _ := s.Take(t.Context(), "a")
		other, err := s.Take(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		var left, third error = nil, context.DeadlineExceeded
		var leave func()
		go func() { _, left = s.Take(gone, "a") }()
		go func() { leave, third = s.Take(t.Context(), "a") }()
		synctest.Wait()
		if left != nil || third == nil {
			t.Fatal("a third got a slot of two")
		}
		cancel()
		synctest.Wait()
		if left == nil {
			t.Fatal("whoever gave up waits on")
		}
		first()
		synctest.Wait()
		if third != nil {
			t.Fatal("nobody got the slot that was left")
		}
		second()
		leave()
		other()
		if len(s.keys) != 0 {
			t.Errorf("%d keys are remembered", len(s.keys))
		}
	})
}
