package call

import (
	"context"

	"github.com/castalia-org/castalia/internal/service/oracle/call/calltext"
)

// early is what was said before a pause, being understood while the pause lasts:
// when it turns out to be the end, the answer is there already.
type early struct {
	done   chan struct{}
	cancel context.CancelFunc
	text   string
	err    error
}

func newEarly(cancel context.CancelFunc) *early {
	return &early{done: make(chan struct{}), cancel: cancel}
}

// understandEarly begins to understand what was said before a pause. The caller
// holds t.hear.
func (t *talk) understandEarly(sound []int16) {
	ctx, cancel := context.WithTimeout(t.ctx, transcribeTime)
	e := newEarly(cancel)
	t.early = e
	t.done.Go(func() {
		defer cancel()
		defer close(e.done)
		if e.text, e.err = t.transcribe(ctx, sound); e.err != nil || e.text == "" {
			return
		}
		t.hear.Lock()
		defer t.hear.Unlock()
		if silence := calltext.SilenceAfter(e.text); t.early == e && silence > 0 {
			t.detector.EndAfter(silence)
		}
	})
}

// forgetEarly drops what was understood of an utterance that goes on. The caller
// holds t.hear.
func (t *talk) forgetEarly() {
	if t.early != nil {
		t.early.cancel()
		t.early = nil
	}
}

// understood waits for what was understood early; false when that came to nothing.
func (e *early) understood(ctx context.Context) (string, bool) {
	if e == nil {
		return "", false
	}
	select {
	case <-e.done:
		return e.text, e.err == nil
	case <-ctx.Done():
		return "", false
	}
}
