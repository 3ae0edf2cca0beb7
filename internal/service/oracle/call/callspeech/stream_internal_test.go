package callspeech

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// unconnected is a stream whose service is never reached.
func unconnected(t testing.TB) (st *stream, failures *int) {
	t.Helper()
	s, err := New(Config{BaseURL: "http://service.example/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	failures = new(int)
	st = &stream{
		service: s, failed: func(error) { *failures++ }, out: make(chan []byte, maxUnsent),
		rate: callsound.NewResampler(callsound.HeardRate, pcmRate),
	}
	st.ctx, st.cancel = context.WithCancelCause(t.Context())
	return st, failures
}

func event(t *testing.T, st *stream, text string) {
	t.Helper()
	if err := st.event([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// Texts find who asked for them, in whatever order they come.
func TestTextsFindWhoAskedForThem(t *testing.T) {
	t.Parallel()
	st, _ := unconnected(t)
	first, second := st.Understand(), st.Understand()
	event(t, st, `{"type":"input_audio_buffer.committed","item_id":"a"}`)
	event(t, st, `{"type":"input_audio_buffer.committed","item_id":"b"}`)
	event(t, st, `{"type":"conversation.item.input_audio_transcription.completed","item_id":"c","transcript":"of nobody"}`)
	event(t, st, `{"type":"conversation.item.input_audio_transcription.completed","transcript":"of nobody"}`)
	event(t, st, `{"type":"conversation.item.input_audio_transcription.completed","item_id":"b","transcript":" two "}`)
	event(t, st, `{"type":"conversation.item.input_audio_transcription.completed","item_id":"a","transcript":"one"}`)
	for range 2 { // as often as one likes
		for want, text := range map[string]func(context.Context) (string, error){"one": first, "two": second} {
			if got, err := text(t.Context()); got != want || err != nil {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	}
}

// A service that is not reached costs the memory of half a minute, and then the stream.
func TestAStreamThatNobodyTakesIsGivenUp(t *testing.T) {
	t.Parallel()
	st, _ := unconnected(t)
	text := st.Understand()
	var err error
	pieces := 0
	for ; err == nil && pieces < 100*maxUnsent; pieces++ {
		err = st.Hear(make([]int16, callsound.HeardRate/10))
	}
	if err == nil || pieces > 2*maxUnsent {
		t.Errorf("%d pieces were taken, %v", pieces, err)
	}
	if _, err := text(t.Context()); err == nil {
		t.Error("a text came of a stream that is over")
	}
	if _, err := st.Understand()(t.Context()); err == nil {
		t.Error("a text can be asked for of a stream that is over")
	}
}

// Whoever leaves while nothing is wanted has done no wrong; whoever leaves with what was said has.
func TestWhoLeavesInSilenceHasNotFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(st *stream)
		want   int
	}{
		"in silence":            {func(*stream) {}, 0},
		"after what was forgot": {func(st *stream) { _ = st.Hear(make([]int16, 320)); st.Forget() }, 0},
		"with what was said":    {func(st *stream) { _ = st.Hear(make([]int16, 320)) }, 1},
		"with a text to come":   {func(st *stream) { st.Understand() }, 1},
		"after the call":        {func(st *stream) { st.Understand(); st.Close() }, 0},
	} {
		st, failures := unconnected(t)
		c.before(st)
		st.fail(errors.New("gone"))
		st.fail(errors.New("gone again"))
		if *failures != c.want {
			t.Errorf("%s: %d failures, want %d", name, *failures, c.want)
		}
	}
}

// FuzzStreamEvent takes whatever a service says while a text is waited for.
func FuzzStreamEvent(f *testing.F) {
	for _, seed := range []string{
		`{"type":"input_audio_buffer.committed","item_id":"a"}`,
		`{"type":"conversation.item.input_audio_transcription.completed","item_id":"a","transcript":"one"}`,
		`{"type":"conversation.item.input_audio_transcription.failed","item_id":"a","error":{"code":"x"}}`,
		`{"type":"error","error":{"code":"secret","message":"secret"}}`, `null`, `[]`, `{"type":1}`,
	} {
		f.Add(`{"type":"input_audio_buffer.committed","item_id":"a"}`, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		st, _ := unconnected(t)
		text := st.Understand()
		for _, e := range []string{first, second} {
			if err := st.event([]byte(e)); err != nil {
				if len(err.Error()) > 300 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				st.fail(err)
			}
		}
		st.Close()
		if got, err := text(t.Context()); err == nil && strings.TrimSpace(got) != got {
			t.Errorf("%q", got)
		}
	})
}
