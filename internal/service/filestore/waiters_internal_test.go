package filestore

import "testing"

// Whoever waits and leaves is forgotten: namespaces are free, and memory is not.
func TestWhoLeavesIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWaiters()
	one, leaveOne := w.wait("a")
	two, leaveTwo := w.wait("a")
	leaveOne()
	w.wake("a")
	<-one
	<-two
	again, leave := w.wait("a")
	leaveTwo() // of the change that was: who came later stays
	select {
	case <-again:
		t.Error("woken by what was before")
	default:
	}
	w.wake("a")
	<-again
	leave()
	_, leave = w.wait("b")
	leave()
	if len(w.by) != 0 {
		t.Errorf("%d namespaces are remembered", len(w.by))
	}
}
