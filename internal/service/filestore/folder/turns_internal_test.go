package folder

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Somebody who moves a large folder to and fro must not keep all others from writing.
func TestLongActsOfANamespaceHaveRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		began := time.Now()
		act := func(ns string, took time.Duration) time.Duration {
			over, err := turns.take(t.Context(), ns)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Since(began)
			time.Sleep(took)
			over()
			return at
		}
		act("one", 2*time.Second)
		if at := act("another", time.Second); at != 2*time.Second {
			t.Errorf("somebody else waited until %s", at)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.take(limited, "one"); err == nil {
			t.Error("an act without a rest before it")
		}
		if at := act("one", shortAct/2); at != 8*time.Second {
			t.Errorf("the next act began after %s", at)
		}
		if at := act("one", 0); at != 8*time.Second+shortAct/2 {
			t.Errorf("after a short act the next began after %s", at)
		}
	})
}
