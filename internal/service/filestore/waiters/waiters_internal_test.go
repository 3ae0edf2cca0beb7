package waiters

import "testing"

// Whoever waits and leaves is forgotten: namespaces are free, and memory is not.
func TestWhoLeavesIsForgotten(t *testing.T) {
	t.Parallel()
	w := New()
	one, leaveOne := w.Wait("a")
	two, leaveTwo := w.Wait("a")
	leaveOne()
	w.Wake("a")
	<-one
	<-two
	again, leave := w.Wait("a")
	leaveTwo() // of the change that was: who came later stays
	select {
	case <-again:
		t.Error("woken by what was before")
	default:
	}
	w.Wake("a")
	<-again
	leave()
	_, leave = w.Wait("b")
	leave()
	if len(w.by) != 0 {
		t.Errorf("%d namespaces are remembered", len(w.by))
	}
}
