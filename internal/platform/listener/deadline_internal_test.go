package listener

import (
	"net"
	"testing"
	"time"
)

// deadlines notes which write deadlines it is given.
type deadlines struct {
	net.Conn
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// TestWriteDeadlineIsShared sees that answers in quick succession move the
// deadline once, and that one which somebody lifted is set again.
func TestWriteDeadlineIsShared(t *testing.T) {
	t.Parallel()
	under := &deadlines{}
	conn := &Conn{Conn: under}
	conn.ExtendWriteDeadline(time.Hour)
	conn.ExtendWriteDeadline(time.Hour)
	if len(under.set) != 1 || time.Until(under.set[0]) < 50*time.Minute {
		t.Fatalf("deadlines: %v", under.set)
	}
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	conn.ExtendWriteDeadline(time.Hour)
	if len(under.set) != 3 || under.set[2].IsZero() {
		t.Errorf("after it was lifted: %v", under.set)
	}
}
