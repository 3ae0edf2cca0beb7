package ratelimit

// ring is a doubly linked list whose elements can leave from anywhere.
type ring[T any] struct {
	first, last *link[T]
	len         int
}

// link is a place in a ring, kept by whoever may have to leave it.
type link[T any] struct {
	value      T
	prev, next *link[T]
	in         *ring[T]
}

// push puts the link at the end.
func (r *ring[T]) push(l *link[T]) {
	l.in, l.prev, l.next = r, r.last, nil
	if r.last != nil {
		r.last.next = l
	} else {
		r.first = l
	}
	r.last = l
	r.len++
}

// leave takes the link out of the ring it is in, if any.
func (l *link[T]) leave() {
	r := l.in
	if r == nil {
		return
	}
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		r.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	} else {
		r.last = l.prev
	}
	l.in, l.prev, l.next = nil, nil, nil
	r.len--
}
