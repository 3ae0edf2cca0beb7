package calltest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
)

// Mood is how a speech service behaves.
type Mood string

// What services do on bad days.
const (
	Well      Mood = ""
	Limited   Mood = "429"
	LimitOnce Mood = "429 once"
	Broken    Mood = "500"
	Cut       Mood = "cut"
	Silent    Mood = "silent"
	Garbage   Mood = "garbage"
	Empty     Mood = "empty"
	Refusing  Mood = "401"
	Half      Mood = "half" // of each sound comes, and then nothing
)

// Speech is a service with OpenAI's audio endpoints: it understands whatever the
// test has told it, and speaks in a tone.
type Speech struct {
	*httptest.Server
	stop chan struct{}

	mu     sync.Mutex
	mood   Mood
	hears  []string
	spoken []string
	asked  []Heard
	hertz  float64
	length time.Duration
	begun  chan string
	served int
	// of speech that is being spoken
	streamed []Heard
	coming   time.Duration
	streams  int
}

// Heard is a transcription that the service was asked for.
type Heard struct {
	Model, Language string
	Seconds         float64
}

// NewSpeech starts a service that hears these sentences, one after the other.
func NewSpeech(t testing.TB, hears ...string) *Speech {
	s := &Speech{
		hears: hears, hertz: 600, length: 300 * time.Millisecond, begun: make(chan string, 64), stop: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcribe)
	mux.HandleFunc("POST /v1/audio/speech", s.speak)
	mux.HandleFunc("GET /v1/realtime", s.listen)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(s.stop)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Client is a callspeech.Service that talks to it.
func (s *Speech) Client(t testing.TB, change ...func(*callspeech.Config)) *callspeech.Service {
	t.Helper()
	cfg := callspeech.Config{
		BaseURL: s.URL + "/v1", Key: "a key", Model: "m", Voice: "v", Pause: time.Millisecond, Transport: &http.Transport{},
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := callspeech.New(cfg)
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

// Feel changes how the service behaves from now on.
func (s *Speech) Feel(m Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mood, s.served = m, 0
}

// Long makes each sentence sound so long.
func (s *Speech) Long(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.length = d
}

// Begun yields each sentence as the service begins to speak it.
func (s *Speech) Begun() <-chan string { return s.begun }

// Asked lists the transcriptions.
func (s *Speech) Asked() []Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Heard(nil), s.asked...)
}

// Spoken lists the sentences.
func (s *Speech) Spoken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.spoken...)
}

// trouble plays the mood; false means that all is well.
func (s *Speech) trouble(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	mood := s.mood
	s.served++
	first := s.served == 1
	s.mu.Unlock()
	switch mood {
	case Limited:
		w.WriteHeader(http.StatusTooManyRequests)
	case LimitOnce:
		if !first {
			return false
		}
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	case Refusing:
		w.WriteHeader(http.StatusUnauthorized)
	case Broken:
		w.WriteHeader(http.StatusInternalServerError)
	case Cut:
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, `{"te`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case Silent:
		s.hang(r)
	case Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `<html>`+strings.Repeat("?", 1000))
	case Empty:
	default:
		return false
	}
	return true
}

// hang says nothing until whoever asks leaves.
func (s *Speech) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.stop:
	}
}

func (s *Speech) transcribe(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer a key" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	file, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, err := io.ReadAll(file)
	if err != nil || len(data) < 44 || string(data[:4]) != "RIFF" {
		http.Error(w, "no WAVE file", http.StatusBadRequest)
		return
	}
	seconds := float64(len(data)-44) / 2 / float64(binary.LittleEndian.Uint32(data[24:]))
	s.mu.Lock()
	s.asked = append(s.asked, Heard{
		Model: r.FormValue("model"), Language: r.FormValue("language"), Seconds: math.Round(seconds*10) / 10,
	})
	s.mu.Unlock()
	if s.trouble(w, r) {
		return
	}
	s.mu.Lock()
	text := ""
	if len(s.hears) > 0 {
		text, s.hears = s.hears[0], s.hears[1:]
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"text": text})
}

func (s *Speech) speak(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model, Input, Voice string
		Format              string `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Format != "pcm" || q.Voice == "" {
		http.Error(w, fmt.Sprint("bad request: ", err), http.StatusBadRequest)
		return
	}
	if s.trouble(w, r) {
		return
	}
	s.mu.Lock()
	s.spoken = append(s.spoken, q.Input)
	length, hertz, half := s.length, s.hertz, s.mood == Half
	s.mu.Unlock()
	s.begun <- q.Input
	w.Header().Set("Content-Type", "audio/pcm")
	const rate = 24000
	n := int(length.Seconds() * rate)
	if half {
		n /= 2
	}
	buf := make([]byte, 0, 2400)
	for i := range n {
		v := int16(9000 * math.Sin(2*math.Pi*hertz*float64(i)/rate))
		if buf = binary.LittleEndian.AppendUint16(buf, uint16(v)); len(buf) == cap(buf) || i == n-1 {
			if _, err := w.Write(buf); err != nil {
				return
			}
			buf = buf[:0]
		}
	}
	if half {
		w.(http.Flusher).Flush()
		s.hang(r)
	}
}
