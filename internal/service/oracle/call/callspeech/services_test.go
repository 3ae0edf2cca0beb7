package callspeech_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
)

// house is a speech service that keeps what it was asked.
type house struct {
	*callspeech.Service
	mu    sync.Mutex
	voice []string
	asked int
}

// newHouse answers with what answer writes; nil is a service that is well.
func newHouse(t *testing.T, name string, answer http.HandlerFunc, change ...func(*callspeech.Config)) *house {
	t.Helper()
	h := &house{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q struct{ Voice string }
		_ = json.Unmarshal(body, &q)
		h.mu.Lock()
		h.asked++
		h.voice = append(h.voice, q.Voice)
		h.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/transcriptions") {
			_, _ = io.WriteString(w, `{"text":"heard by `+name+`"}`)
			return
		}
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(bytes.Repeat([]byte{1, 0}, 100))
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	cfg := callspeech.Config{
		Name: name, BaseURL: server.URL, Model: "m", Voice: name + "'s", Pause: time.Millisecond, Transport: &http.Transport{},
		First: time.Minute, Idle: time.Minute, // who answers does so in time, however busy the machine is
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if h.Service, err = callspeech.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func (h *house) times() int { h.mu.Lock(); defer h.mu.Unlock(); return h.asked }

func together(now func() time.Time, all ...*house) *callspeech.Services {
	var services []*callspeech.Service
	for _, h := range all {
		services = append(services, h.Service)
	}
	return callspeech.NewServices(services, slog.New(slog.DiscardHandler), now)
}

// soon gives up on who hangs.
func soon(c *callspeech.Config) { c.First, c.Idle = 300*time.Millisecond, 300*time.Millisecond }

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// ills are what services do on bad days.
func ills() map[string]http.HandlerFunc {
	says := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	return map[string]http.HandlerFunc{
		"hangs": hangs,
		"hangs after it": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			hangs(w, r)
		},
		"refuses":       says(401, "application/json", `{"error":"no"}`),
		"breaks":        says(500, "text/plain", ""),
		"is busy":       says(429, "text/plain", ""),
		"a page":        says(200, "text/html", "<html>"),
		"music":         says(200, "audio/pcm", "ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"text as sound": says(200, "audio/pcm", `{"detail":"Not Found"}`),
		"nothing":       says(200, "audio/pcm", ""),
	}
}

func TestTheNextServiceStandsIn(t *testing.T) {
	t.Parallel()
	for name, ill := range ills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := time.Unix(1_800_000_000, 0)
			var change []func(*callspeech.Config)
			if strings.HasPrefix(name, "hangs") {
				change = append(change, soon)
			}
			first, second := newHouse(t, "first", ill, change...), newHouse(t, "second", nil)
			s := together(func() time.Time { return clock }, first, second)
			for range 2 { // the second time it rests
				if text, err := s.Transcribe(t.Context(), call.Speech{WAV: []byte("RIFF")}); err != nil || text != "heard by second" {
					t.Fatalf("%q, %v", text, err)
				}
				sound, err := s.Speak(t.Context(), call.Text{Text: "hello", Voice: "chosen"})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := all(sound); err != nil || len(got) != 100 {
					t.Errorf("%d samples, %v", len(got), err)
				}
			}
			if first.times() != 1 {
				t.Errorf("the first was asked %d times, want once: it rests", first.times())
			}
			if second.times() != 4 || second.voice[1] != "second's" {
				t.Errorf("the second was asked %d times, for %q", second.times(), second.voice)
			}
			clock = clock.Add(31 * time.Second)
			if _, err := s.Transcribe(t.Context(), call.Speech{WAV: []byte("RIFF")}); err != nil || first.times() != 2 {
				t.Errorf("after its rest the first was asked %d times, %v", first.times(), err)
			}
		})
	}
}

func TestAllServicesMayFail(t *testing.T) {
	t.Parallel()
	first, second := newHouse(t, "first", hangs, soon), newHouse(t, "second", hangs, soon)
	s := together(time.Now, first, second)
	if _, err := s.Transcribe(t.Context(), call.Speech{WAV: []byte("RIFF")}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("heard: %v", err)
	}
	if _, err := s.Speak(t.Context(), call.Text{Text: "hello"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("spoken: %v", err)
	}
}

// What was heard is not said again by another: the next sentence is.
func TestASoundThatBreaksOffIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	first := newHouse(t, "first", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(bytes.Repeat([]byte{1, 0}, 50))
		w.(http.Flusher).Flush()
		hangs(w, r)
	}, func(c *callspeech.Config) { c.Idle = 300 * time.Millisecond })
	second := newHouse(t, "second", nil)
	s := together(time.Now, first, second)
	sound, err := s.Speak(t.Context(), call.Text{Text: "hello", Voice: "chosen"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(sound); !errors.Is(err, call.ErrBrokeOff) || len(got) != 50 || second.times() != 0 {
		t.Errorf("%d samples, %v, the second was asked %d times", len(got), err, second.times())
	}
	if first.voice[0] != "chosen" {
		t.Errorf("the caller's voice is %q", first.voice[0])
	}
	if sound, err = s.Speak(t.Context(), call.Text{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	if got, err := all(sound); err != nil || len(got) != 100 || first.times() != 1 {
		t.Errorf("%d samples, %v", len(got), err)
	}
	alone := together(time.Now, newHouse(t, "alone", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte{1, 0}, 50))
		w.(http.Flusher).Flush()
		hangs(w, r)
	}, func(c *callspeech.Config) { c.Idle = 300 * time.Millisecond }))
	if sound, err = alone.Speak(t.Context(), call.Text{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if _, err := all(sound); err == nil || errors.Is(err, call.ErrBrokeOff) {
		t.Errorf("alone: %v", err)
	}
}

func TestServicesAreChosenByLanguage(t *testing.T) {
	t.Parallel()
	english := newHouse(t, "english", nil, func(c *callspeech.Config) { c.Languages = []string{"en"} })
	many := newHouse(t, "many", nil, func(c *callspeech.Config) {
		c.Languages, c.Voices = []string{"de", "sw"}, map[string]string{"de": "thorsten"}
	})
	s := together(time.Now, english, many)
	for language, want := range map[string]string{"": "english", "en-GB": "english", "DE": "many", "sw": "many", "fr": "english"} {
		if text, err := s.Transcribe(t.Context(), call.Speech{WAV: []byte("RIFF"), Language: language}); err != nil ||
			text != "heard by "+want {
			t.Errorf("%q: %q, %v", language, text, err)
		}
	}
	many.voice = nil
	for _, language := range []string{"de-AT", "sw"} {
		sound, err := s.Speak(t.Context(), call.Text{Text: "x", Language: language})
		if err != nil {
			t.Fatal(err)
		}
		_ = sound.Close()
	}
	if diff := cmp.Diff([]string{"thorsten", "many's"}, many.voice); diff != "" {
		t.Errorf("voices (-want +got):\n%s", diff)
	}
}
