package oraclesocket

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// Results are kept for a while, for the node that may ask; the long ones not all
// of them. That a call was sent is not forgotten with its result.
func TestKeptResultsAreBounded(t *testing.T) {
	t.Parallel()
	var c calls
	c.init()
	const many, last = 100, "call 99"
	result := bytes.Repeat([]byte("x"), 1<<20)
	for i := range many {
		id := fmt.Sprint("call ", i)
		c.expect(id, &pending{socket: "s", done: func(oracle.Outcome) {}}, time.Hour)
		if !c.settle(id, oracle.Outcome{Result: result}, nil) {
			t.Fatal(id)
		}
	}
	size := 0
	for i := range many {
		id := fmt.Sprint("call ", i)
		o, open, known := c.state(id)
		if size += len(o.Result); open || !known || c.expect(id, &pending{socket: "s"}, time.Hour) {
			t.Errorf("%s: open %t, known %t", id, open, known)
		}
		if o.Result == nil && !o.Unknown {
			t.Errorf("%s has an empty result", id)
		}
	}
	if o, _, _ := c.state(last); size > 40<<20 || len(o.Result) != len(result) {
		t.Errorf("%d bytes are kept, %d of the last", size, len(o.Result))
	}
	for i := range many {
		c.forget(fmt.Sprint("call ", i))
	}
	if c.kept != 0 || len(c.heavy) != 0 || len(c.settled) != 0 {
		t.Errorf("left: %d bytes, %d results, %d calls", c.kept, len(c.heavy), len(c.settled))
	}
}
