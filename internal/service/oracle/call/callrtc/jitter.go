package callrtc

// reorderDepth is how many packets may overtake one that is missing: at 20 ms
// each this is the delay that a lost packet costs.
const reorderDepth = 3

// maxGap is how many lost packets are told one by one; a longer gap is a new start.
const maxGap = 50

// piece is one packet of sound.
type piece struct {
	seq     uint16
	payload []byte // nil when it is lost
	next    []byte // of a packet that is lost, the one behind it, if that came
}

// reorder puts packets in order and notices those that do not come.
type reorder struct {
	begun bool
	next  uint16
	held  map[uint16][]byte
}

// add takes a packet and calls out with what is now due, in order: packets, and
// places of packets that are given up. The payload is the caller's again when it
// returns.
func (r *reorder) add(seq uint16, payload []byte, out func(piece)) {
	ahead := int16(seq - r.next) //nolint:gosec // the distance on the ring of numbers
	if !r.begun || ahead > maxGap || ahead < -maxGap {
		r.begun, r.next = true, seq
		clear(r.held)
		ahead = 0
	}
	switch {
	case ahead < 0 || r.held[seq] != nil:
		return // too late, or doubled
	case ahead == 0 && len(r.held) == 0: // nearly always
		r.next++
		out(piece{seq: seq, payload: payload})
		return
	case r.held == nil:
		r.held = make(map[uint16][]byte, 2*reorderDepth)
	}
	r.held[seq] = append([]byte{}, payload...)
	for len(r.held) > 0 {
		p, here := r.held[r.next]
		if !here && len(r.held) <= reorderDepth {
			return
		}
		delete(r.held, r.next)
		r.next++
		if here {
			out(piece{seq: r.next - 1, payload: p})
			continue
		}
		out(piece{seq: r.next - 1, next: r.held[r.next]})
	}
}
