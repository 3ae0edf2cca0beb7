package callspeech_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a transport that gives one answer to everything.
type answers struct {
	media string
	body  []byte
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.media}},
		Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

func speaking(t testing.TB, a answers) *callspeech.Service {
	t.Helper()
	s, err := callspeech.New(callspeech.Config{BaseURL: "http://speech.example/v1/", Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all reads sound to its end.
func all(s call.Sound) (out []int16, err error) {
	buf := make([]int16, 7)
	for {
		n, err := s.Read(buf)
		out = append(out, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return out, s.Close()
		}
		if err != nil {
			return out, errors.Join(err, s.Close())
		}
		if n == 0 {
			return out, errors.New("nothing, and no end")
		}
	}
}

func wave(rate, channels uint32, extra string, samples ...int16) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\xff\xff\xff\xffWAVE"), extra...)
	b = append(b, "fmt \x10\x00\x00\x00\x01\x00"...)
	b = le.AppendUint16(b, uint16(channels))
	b = le.AppendUint32(b, rate)
	b = le.AppendUint32(b, rate*2*channels)
	b = le.AppendUint16(b, uint16(2*channels))
	b = le.AppendUint16(b, 16)
	b = append(b, "data\xff\xff\xff\xff"...)
	for _, s := range samples {
		b = le.AppendUint16(b, uint16(s))
	}
	return b
}

func TestSoundOfEitherForm(t *testing.T) {
	t.Parallel()
	twenty := make([]int16, 20)
	for i := range twenty {
		twenty[i] = int16(i - 10)
	}
	bare := wave(24000, 1, "", twenty...)[44:]
	for name, c := range map[string]struct {
		body []byte
		rate int
		want []int16
	}{
		"bare samples":          {bare, 24000, twenty},
		"a sample cut in half":  {bare[:len(bare)-1], 24000, twenty[:19]},
		"a WAVE file":           {wave(16000, 1, "", twenty...), 16000, twenty},
		"with a list before it": {wave(22050, 1, "LIST\x04\x00\x00\x00abcd", twenty...), 22050, twenty},
		"in stereo":             {wave(48000, 2, "", 1, 9, 2, 9, 3, 9), 48000, []int16{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := speaking(t, answers{"audio/pcm", c.body}).Speak(t.Context(), call.Text{Text: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := all(s)
			if err != nil || s.Rate() != c.rate {
				t.Errorf("%d Hz, %v", s.Rate(), err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answers{
		"nothing":            {"audio/pcm", nil},
		"one byte":           {"audio/pcm", []byte{1}},
		"an error in JSON":   {"application/json; charset=utf-8", []byte(`{"error":"no"}`)},
		"a page":             {"text/html", []byte("<html>")},
		"a head alone":       {"audio/wav", wave(24000, 1, "")[:20]},
		"three channels":     {"audio/wav", wave(24000, 3, "", 1, 2, 3)},
		"an impossible rate": {"audio/wav", wave(1, 1, "", 1, 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := speaking(t, a).Speak(t.Context(), call.Text{Text: "secret words"})
			if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "secret words") {
				t.Errorf("%v", err)
			}
		})
	}
	for _, bad := range []string{"", "speech.example", "ftp://x"} {
		if _, err := callspeech.New(callspeech.Config{BaseURL: bad}); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}

func TestTheKeyStaysWithItsHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request followed a redirect") }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	s, err := callspeech.New(callspeech.Config{BaseURL: first.URL, Key: "a key", Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Transcribe(t.Context(), call.Speech{WAV: []byte("RIFF")}); !fault.Is(err, fault.Unavailable) ||
		strings.Contains(err.Error(), "a key") {
		t.Errorf("%v", err)
	}
}

func TestACallerWhoLeavesEndsTheWait(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t)
	speech.Feel(calltest.Silent)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := speech.Client(t).Speak(ctx, call.Text{Text: "hello"}); err == nil {
		t.Error("spoken to nobody")
	}
}

// FuzzSound reads whatever a service may send as sound.
func FuzzSound(f *testing.F) {
	f.Add(wave(24000, 1, "", 1, 2, 3))
	f.Add(wave(24000, 2, "LIST\x04\x00\x00\x00abcd", 1, 2, 3))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := speaking(t, answers{"audio/pcm", body}).Speak(t.Context(), call.Text{Text: "x"})
		if err != nil {
			return
		}
		out, _ := all(s)
		if 2*len(out) > len(body) || s.Rate() < 8000 || s.Rate() > 96000 {
			t.Errorf("%d samples at %d Hz of %d bytes", len(out), s.Rate(), len(body))
		}
	})
}
