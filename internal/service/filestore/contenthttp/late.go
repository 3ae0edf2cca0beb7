package contenthttp

import "net/http"

// Late is a response whose status is not sent before some of its body is there,
// so that a failure at the beginning is an error with a status and not a
// connection that ends.
type Late struct {
	http.ResponseWriter
	Room   int // how much is held back
	held   []byte
	status int
	sent   bool
}

// WriteHeader keeps the status.
func (l *Late) WriteHeader(status int) {
	if l.status == 0 {
		l.status = status
	}
}

// Write keeps the beginning and passes on what follows.
func (l *Late) Write(p []byte) (int, error) {
	if !l.sent && len(l.held)+len(p) <= l.Room {
		l.held = append(l.held, p...)
		return len(p), nil
	}
	if err := l.send(); err != nil {
		return 0, err
	}
	return l.ResponseWriter.Write(p)
}

func (l *Late) send() error {
	if l.sent {
		return nil
	}
	l.sent = true
	if l.status == 0 {
		l.status = http.StatusOK
	}
	l.ResponseWriter.WriteHeader(l.status)
	held := l.held
	l.held = nil
	if len(held) == 0 {
		return nil
	}
	_, err := l.ResponseWriter.Write(held)
	return err
}

// Finish sends what is held back, or, after a failure, nothing: the error is the
// answer when nothing was sent yet, and ends the connection when something was,
// since a length was promised.
func (l *Late) Finish(failed error) error {
	if failed == nil {
		return l.send()
	}
	if !l.sent {
		return undo(l.Header(), failed)
	}
	return failed
}
