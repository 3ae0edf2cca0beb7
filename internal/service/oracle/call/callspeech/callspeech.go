// Package callspeech understands and speaks by services with OpenAI's audio
// endpoints: /audio/transcriptions and /audio/speech.
//
// It promises that a service that is slow, silent, cut off or talking nonsense
// costs one utterance or one sentence and never the call: every wait has an end,
// every answer a bound, and a transcription is tried once more when the service
// says that it may help. Several are asked in their order (see Services). Sound is
// spoken as it comes. The key goes to the configured host alone, and neither it nor
// what was said is in an error.
//
// Decision: ADR 0063.
package callspeech

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
)

// Config says which service. Zero times mean the defaults.
type Config struct {
	Name    string // what operators call it
	BaseURL string // with its version, such as https://api.openai.com/v1
	Key     string
	Model   string
	Voice   string // of a speaker that is not told otherwise
	// Voices are those of some languages, by their primary tag.
	Voices map[string]string
	// Languages are the primary tags of those that it knows; none means all.
	Languages []string
	// Format is what sound is asked for: pcm, or wav where a service knows no other.
	Format string
	// Stream says that it takes speech while it is spoken, by OpenAI's Realtime API.
	Stream bool
	// First is how long a transcription may take, or a sound to begin: 20 s.
	First time.Duration
	// Idle is how long a sound may be silent then: 10 s.
	Idle time.Duration
	// Pause is the time before the one repetition, unless the service says: 300 ms.
	Pause time.Duration
	// Transport is for tests; nil means one of its own.
	Transport http.RoundTripper
}

// Bounds of what is read from a service.
const (
	maxTranscript = 256 << 10
	maxSound      = 64 << 20
	maxPause      = 2 * time.Second
	// pcmRate is what "pcm" means to these services.
	pcmRate = 24000
)

// Service is one endpoint. It is a call.SpeechToText and a call.TextToSpeech.
type Service struct {
	cfg  Config
	http *http.Client
}

var (
	_ call.SpeechToText = (*Service)(nil)
	_ call.TextToSpeech = (*Service)(nil)
)

// New makes a Service.
func New(cfg Config) (*Service, error) {
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if !strings.HasPrefix(cfg.BaseURL, "http://") && !strings.HasPrefix(cfg.BaseURL, "https://") {
		return nil, errors.New("the address of a speech service begins with http:// or https://")
	}
	cfg.First = cmp.Or(cfg.First, 20*time.Second)
	cfg.Idle = cmp.Or(cfg.Idle, 10*time.Second)
	cfg.Pause = cmp.Or(cfg.Pause, 300*time.Millisecond)
	cfg.Format = cmp.Or(cfg.Format, "pcm")
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		}
	}
	return &Service{cfg: cfg, http: &http.Client{
		Transport: cfg.Transport,
		// the key stays where it belongs
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close lets go of idle connections.
func (s *Service) Close() { s.http.CloseIdleConnections() }

// ServiceError is why a service did not help. Callers of a call read less of it.
type ServiceError struct {
	// Status is that of its answer; 0 without one.
	Status int
	// Said is what is wrong with an answer that came; empty otherwise.
	Said string
	// Cause is why none came.
	Cause error
	// Streamed says that it was asked while somebody spoke.
	Streamed bool
}

// Error implements error.
func (f *ServiceError) Error() string {
	switch {
	case f.Cause != nil:
		return f.Cause.Error()
	case f.Said != "":
		return f.Said
	}
	return fmt.Sprintf("status %d", f.Status)
}

// Unwrap returns the cause.
func (f *ServiceError) Unwrap() error { return f.Cause }

func (f *ServiceError) busy() bool {
	return f.Status == http.StatusTooManyRequests || f.Status >= http.StatusInternalServerError
}

// refused is the failure of a status, as callers may read it.
func refused(status int) error {
	f := &ServiceError{Status: status}
	if f.busy() {
		return fault.Wrap(fault.Unavailable, "The speech service is busy.", f)
	}
	return fault.Wrap(fault.Unavailable, "The speech service gives no sense.", f)
}

func away(cause error) error {
	return fault.Wrap(fault.Unavailable, "The speech service does not answer.", &ServiceError{Cause: cause})
}

func broken(format string, args ...any) error {
	return fault.Wrap(fault.Unavailable, "The speech service gives no sense.",
		&ServiceError{Status: http.StatusOK, Said: fmt.Sprintf(format, args...)})
}

// Name is what operators call it.
func (s *Service) Name() string { return s.cfg.Name }

// Model is what it is asked for.
func (s *Service) Model() string { return s.cfg.Model }

// BaseURL is where it is.
func (s *Service) BaseURL() string { return s.cfg.BaseURL }

// HasKey reports whether it is asked with a key.
func (s *Service) HasKey() bool { return s.cfg.Key != "" }

// Timeout is how long a transcription may take, or a sound to begin.
func (s *Service) Timeout() time.Duration { return s.cfg.First }

// Silent reports whether a service took too long.
func Silent(err error) bool { return errors.Is(err, errSilent) }

// knows reports whether a language is one that it knows; a call may have none.
func (s *Service) knows(language string) bool {
	return language == "" || len(s.cfg.Languages) == 0 || slices.Contains(s.cfg.Languages, primary(language))
}

// primary is the language of a tag: pt of pt-BR.
func primary(tag string) string {
	language, _, _ := strings.Cut(tag, "-")
	return strings.ToLower(language)
}

// Transcribe implements call.SpeechToText. It takes First at most, also where it
// asks once more.
func (s *Service) Transcribe(ctx context.Context, speech call.Speech) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.First, errSilent)
	defer cancel()
	text, pause, err := s.transcribeOnce(ctx, speech)
	if err == nil || pause < 0 {
		return text, err
	}
	timer := time.NewTimer(pause)
	select {
	case <-timer.C:
	case <-ctx.Done():
		timer.Stop()
		return "", err
	}
	text, _, err = s.transcribeOnce(ctx, speech)
	return text, err
}

func (s *Service) form(speech call.Speech) (body []byte, media string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"model", s.cfg.Model}, {"response_format", "json"}}
	if language := primary(speech.Language); language != "" {
		fields = append(fields, [2]string{"language", language})
	}
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", fmt.Errorf("write form: %w", err)
		}
	}
	file, err := w.CreateFormFile("file", "speech.wav")
	if err == nil {
		_, err = file.Write(speech.WAV)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// transcribeOnce asks once. pause is negative when asking again would not help.
func (s *Service) transcribeOnce(ctx context.Context,
	speech call.Speech,
) (text string, pause time.Duration, err error) {
	body, media, err := s.form(speech)
	if err != nil {
		return "", -1, err
	}
	resp, err := s.post(ctx, "/audio/transcriptions", media, body)
	if err != nil {
		if ctx.Err() != nil {
			return "", -1, err
		}
		return "", s.cfg.Pause, err
	}
	defer func() { _ = resp.Close() }()
	if resp.status != http.StatusOK {
		if (&ServiceError{Status: resp.status}).busy() {
			return "", s.pause(resp.header), refused(resp.status)
		}
		return "", -1, refused(resp.status)
	}
	data, err := io.ReadAll(io.LimitReader(resp, maxTranscript+1))
	if err != nil {
		return "", s.cfg.Pause, away(err)
	}
	if len(data) > maxTranscript {
		return "", -1, broken("transcription has more than %d bytes", maxTranscript)
	}
	var answer struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(data, &answer) != nil || answer.Text == nil {
		return "", -1, broken("transcription has no text")
	}
	return words(*answer.Text), 0, nil
}

// words is what was said. Whisper writes down what it hears beside words, such as
// [BLANK_AUDIO] or [MUSIC]: that alone is nothing said.
func words(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") && strings.IndexByte(text, ']') == len(text)-1 {
		return ""
	}
	return text
}

// pause is how long the service wants us to wait, within reason.
func (s *Service) pause(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return s.cfg.Pause
	}
	wait := time.Duration(seconds) * time.Second
	if wait > maxPause {
		return -1
	}
	return wait
}

// Speak implements call.TextToSpeech.
func (s *Service) Speak(ctx context.Context, t call.Text) (call.Sound, error) {
	voice := cmp.Or(t.Voice, s.cfg.Voices[primary(t.Language)], s.cfg.Voice)
	body, err := json.Marshal(map[string]any{
		"model": s.cfg.Model, "input": t.Text, "voice": voice, "response_format": s.cfg.Format,
	})
	if err != nil {
		return nil, fmt.Errorf("encode text: %w", err)
	}
	resp, err := s.post(ctx, "/audio/speech", "application/json", body)
	if err != nil {
		return nil, err
	}
	if resp.status != http.StatusOK {
		return nil, errors.Join(refused(resp.status), resp.Close())
	}
	sound, err := newSound(resp)
	if err != nil {
		return nil, errors.Join(err, resp.Close())
	}
	resp.begin()
	return sound, nil
}

// response is an answer whose silences have an end.
type response struct {
	status int
	header http.Header
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	watch  *time.Timer
	idle   time.Duration
	begun  bool
	ctx    context.Context //nolint:containedctx // lives as long as the answer
}

var errSilent = errors.New("the service fell silent")

// post sends a request and waits for the head of its answer.
func (s *Service) post(ctx context.Context, path, media string, body []byte) (*response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(s.cfg.First, func() { cancel(errSilent) })
	fail := func(err error) (*response, error) {
		watch.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, away(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Content-Type", media)
	if s.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
	resp, err := s.http.Do(req) //nolint:bodyclose // response.Close does
	if err != nil {
		return fail(err)
	}
	return &response{
		status: resp.StatusCode, header: resp.Header, body: resp.Body, cancel: cancel, watch: watch,
		idle: s.cfg.Idle, ctx: ctx,
	}, nil
}

// begin says that what comes from now on is heard: each silence is measured by itself.
func (r *response) begin() {
	r.begun = true
	r.watch.Reset(r.idle)
}

// Read reads, and starts the watch of an answer again that has begun.
func (r *response) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if n > 0 && r.begun {
		r.watch.Reset(r.idle)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := context.Cause(r.ctx); cause != nil {
			err = cause
		}
	}
	return n, err
}

// Close ends the answer.
func (r *response) Close() error {
	r.watch.Stop()
	r.cancel(nil)
	return r.body.Close()
}

// sound is an answer as samples.
type sound struct {
	from     *response
	in       io.Reader
	rate     int
	channels int
	buf      []byte
	left     int // bytes that still may come
	got      bool
}

// newSound finds out what the service sent: bare samples, or a WAVE file.
func newSound(r *response) (*sound, error) {
	s := &sound{from: r, in: r, rate: pcmRate, channels: 1, left: maxSound}
	media, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err == nil && (strings.HasPrefix(media, "text/") || media == "application/json") {
		return nil, broken("speech is %s", media)
	}
	head := make([]byte, 12)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || n < 2 {
		return nil, broken("speech is empty")
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, away(err)
	}
	if n == len(head) && string(head[:4]) == "RIFF" && string(head[8:]) == "WAVE" {
		return s, s.wave()
	}
	if other := otherSound(head[:n], media); other != "" {
		return nil, broken("speech is %s", other)
	}
	s.in = io.MultiReader(bytes.NewReader(head[:n]), r)
	return s, nil
}

// otherSound names what is neither samples nor a WAVE file, and would be noise;
// empty where it may be samples.
func otherSound(head []byte, media string) string {
	for begins, name := range map[string]string{"ID3": "MP3", "OggS": "Ogg", "fLaC": "FLAC"} {
		if bytes.HasPrefix(head, []byte(begins)) {
			return name
		}
	}
	switch {
	case media == "audio/mpeg" && head[0] == 0xff && head[1] >= 0xe0:
		return "MP3"
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r > '~' }):
		return "text"
	}
	return ""
}

// wave reads the head of a WAVE file up to its samples.
func (s *sound) wave() error {
	le := binary.LittleEndian
	chunk := make([]byte, 8)
	for range 16 {
		if _, err := io.ReadFull(s.in, chunk); err != nil {
			return broken("the WAVE file ends early")
		}
		size := le.Uint32(chunk[4:])
		switch string(chunk[:4]) {
		case "data":
			return nil // its size is a guess where the file was made on the way
		case "fmt ":
			if size < 16 || size > 64 {
				return broken("the WAVE file has no format")
			}
			format := make([]byte, size)
			if _, err := io.ReadFull(s.in, format); err != nil {
				return broken("the WAVE file ends early")
			}
			s.channels, s.rate = int(le.Uint16(format[2:])), int(le.Uint32(format[4:]))
			if bits := le.Uint16(format[14:]); bits != 16 || s.channels < 1 || s.channels > 2 || s.rate < 8000 ||
				s.rate > 96000 {
				return broken("the WAVE file has %d bits, %d channels, %d Hz", bits, s.channels, s.rate)
			}
		default:
			if _, err := io.CopyN(io.Discard, s.in, int64(min(size, 1<<16))); err != nil {
				return broken("the WAVE file ends early")
			}
		}
	}
	return broken("the WAVE file has no samples")
}

// Rate implements call.Sound.
func (s *sound) Rate() int { return s.rate }

// Read implements call.Sound.
func (s *sound) Read(dst []int16) (int, error) {
	want := len(dst) * 2 * s.channels
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	n, err := io.ReadAtLeast(s.in, s.buf[:want], 2*s.channels)
	if s.left -= n; s.left < 0 {
		return 0, broken("speech has more than %d bytes", maxSound)
	}
	if rest := n % (2 * s.channels); rest != 0 && err == nil { // the other half of a sample
		var more int
		more, err = io.ReadFull(s.in, s.buf[n:n+2*s.channels-rest])
		n += more
	}
	out := 0
	for i := 0; i+2*s.channels <= n; i += 2 * s.channels {
		dst[out] = int16(binary.LittleEndian.Uint16(s.buf[i:])) //nolint:gosec // the bits as they are
		out++
	}
	s.got = s.got || out > 0
	switch {
	case err == nil || out > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		return out, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && s.got && n < 2*s.channels:
		return out, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return out, broken("speech was cut")
	}
	return out, away(err)
}

// Close implements call.Sound.
func (s *sound) Close() error { return s.from.Close() }
