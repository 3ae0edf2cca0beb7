package endpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// Speech names the services of calls, each half in the order in which they are
// asked: those after the first stand in for it (see callspeech.Services, and ADR 0259
// for why they stand here).
type Speech struct {
	Hearing []SpeechService `yaml:"hearing,omitempty"`
	Voice   []SpeechService `yaml:"voice,omitempty"`
}

// SpeechService is an endpoint with OpenAI's audio routes.
type SpeechService struct {
	Endpoint string `yaml:"endpoint"`
	Model    string `yaml:"model"`
	// Voice is how it speaks, Voices by the language of a call.
	Voice  string            `yaml:"voice,omitempty"`
	Voices map[string]string `yaml:"voices,omitempty"`
	// Languages are those that it knows; none means all.
	Languages []string `yaml:"languages,omitempty"`
	// Format is pcm, or wav for services that make no other sound.
	Format string `yaml:"format,omitempty"`
	// Stream says that it takes speech while it is spoken, by OpenAI's Realtime API.
	Stream bool `yaml:"stream,omitempty"`
	// Timeout is how long a transcription may take, or a sound to begin.
	Timeout Duration `yaml:"timeout,omitempty"`
}

const (
	maxSpeech = 6
	maxVoices = 64
	// speechWait is how long a caller waits for all services of a half together.
	speechWait = 30 * time.Second
	// The times of a service that says none: with others behind it, and alone.
	waitBeforeNext = 5 * time.Second
	waitAlone      = 20 * time.Second
	hearing        = "hearing"
	speaking       = "voice"
)

// language is the primary tag of BCP 47.
var language = regexp.MustCompile(`^[a-z]{2,3}$`)

func (s Speech) check(endpoints map[string]Endpoint) error {
	for _, half := range []struct {
		name string
		all  []SpeechService
	}{{hearing, s.Hearing}, {speaking, s.Voice}} {
		if len(half.all) > maxSpeech {
			return fmt.Errorf("speech: %s: at most %d services", half.name, maxSpeech)
		}
		var wait time.Duration
		for i, one := range half.all {
			if err := one.check(half.name, endpoints); err != nil {
				return fmt.Errorf("speech: %s %d (%.40q): %w", half.name, i+1, one.Endpoint, err)
			}
			wait += one.wait(len(half.all))
		}
		if wait > speechWait {
			return fmt.Errorf("speech: %s: the timeouts add up to %s, and a caller waits for %s", half.name, wait, speechWait)
		}
	}
	return nil
}

func (s SpeechService) check(half string, endpoints map[string]Endpoint) error {
	e, ok := endpoints[s.Endpoint]
	speaks := s.Voice != "" || len(s.Voices) > 0 || s.Format != ""
	switch {
	case !ok:
		return errors.New("there is no such endpoint")
	case e.Kind != kindOpenAI:
		return fmt.Errorf("an endpoint of the kind %s has no speech: it is one of the kind openai", e.Kind)
	case !isName(s.Model):
		return fmt.Errorf("model has 1 to %d letters, and no spaces", maxName)
	case half == hearing && speaks:
		return errors.New("voice, voices and format are for those who speak")
	case half == speaking && s.Stream:
		return errors.New("stream is for those who hear")
	case half == speaking && s.Voice == "":
		return errors.New("name a voice")
	case !slices.Contains([]string{"", "pcm", "wav"}, s.Format):
		return errors.New("format is pcm or wav")
	case len(s.Voices) > maxVoices || len(s.Languages) > maxVoices:
		return fmt.Errorf("at most %d languages", maxVoices)
	}
	for _, tag := range slices.Concat(s.Languages, slices.Collect(maps.Keys(s.Voices))) {
		if !language.MatchString(tag) {
			return fmt.Errorf("%.40q is not a language such as en or sw", tag)
		}
	}
	for _, voice := range append(slices.Collect(maps.Values(s.Voices)), s.Voice) {
		if len(voice) > maxName {
			return fmt.Errorf("the name of a voice has at most %d letters", maxName)
		}
	}
	return nil
}

// wait is how long the service may take, as one of so many.
func (s SpeechService) wait(among int) time.Duration {
	if among > 1 {
		return orElse(s.Timeout, waitBeforeNext)
	}
	return orElse(s.Timeout, waitAlone)
}

// only lists the endpoints that are for speech alone.
func (s Speech) only(models []Model) map[string]bool {
	out := map[string]bool{}
	for _, one := range slices.Concat(s.Hearing, s.Voice) {
		out[one.Endpoint] = !slices.ContainsFunc(models, func(m Model) bool { return m.Endpoint == one.Endpoint })
	}
	return out
}

// SpeechVariables are the settings that stand for one service of each half, where
// the document names none.
type SpeechVariables struct {
	HearURL, HearModel          string
	VoiceURL, VoiceModel, Voice string
	Key                         string
}

func (v SpeechVariables) hearing() callspeech.Config {
	return callspeech.Config{Name: "SPEECH_TO_TEXT_URL", BaseURL: v.HearURL, Key: v.Key, Model: v.HearModel}
}

func (v SpeechVariables) voice() callspeech.Config {
	return callspeech.Config{Name: "TEXT_TO_SPEECH_URL", BaseURL: v.VoiceURL, Key: v.Key, Model: v.VoiceModel, Voice: v.Voice}
}

// services makes a half of speech; nil is none.
func (c Config) services(all []SpeechService, places map[string]*place,
	otherwise callspeech.Config,
) (*callspeech.Services, error) {
	var made []*callspeech.Service
	if len(all) == 0 && otherwise.BaseURL != "" {
		if otherwise.Transport = c.Wire.Transport; otherwise.Transport == nil {
			otherwise.Transport = wire.NewTransport(c.Wire.Connect)
		}
		one, err := callspeech.New(otherwise)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", otherwise.Name, err)
		}
		made = append(made, one)
	}
	for _, s := range all {
		p := places[s.Endpoint]
		one, err := callspeech.New(callspeech.Config{
			Name: s.Endpoint, BaseURL: p.base, Key: p.key, Model: s.Model, Voice: s.Voice, Voices: s.Voices,
			Languages: s.Languages, Format: s.Format, Stream: s.Stream, First: s.wait(len(all)), Transport: p.transport,
		})
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	if len(made) == 0 {
		return nil, nil //nolint:nilnil // no services, as the document says
	}
	return callspeech.NewServices(made, c.Log, c.Now), nil
}

// ProbeSpeech has every service of speech understand a second of silence, or say a
// word.
func (s *Set) ProbeSpeech(ctx context.Context) []Finding {
	var (
		found []Finding
		ask   []func(context.Context) error
		asked []*callspeech.Service
	)
	add := func(half string, all *callspeech.Services, try func(context.Context, *callspeech.Service) error) {
		if all == nil {
			return
		}
		for _, one := range all.All() {
			f := Finding{Endpoint: one.Name(), Speech: half, Model: one.Model()}
			if u, err := url.Parse(one.BaseURL()); err == nil {
				f.Host = u.Host
			}
			found, asked = append(found, f), append(asked, one)
			ask = append(ask, func(ctx context.Context) error { return try(ctx, one) })
		}
	}
	add(hearing, s.hearing, tryHearing)
	add(speaking, s.voice, tryVoice)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			if err := ask[i](ctx); err != nil {
				found[i].is(speechProblem(err, asked[i], found[i].Speech))
			}
		})
	}
	all.Wait()
	return found
}

func tryHearing(ctx context.Context, s *callspeech.Service) error {
	silence := make([]int16, callsound.HeardRate)
	_, err := s.Transcribe(ctx, call.Speech{WAV: callsound.WAV(silence, callsound.HeardRate)})
	if err == nil && s.Streams() {
		return s.RehearseStream(ctx, silence)
	}
	return err
}

func tryVoice(ctx context.Context, s *callspeech.Service) error {
	sound, err := s.Speak(ctx, call.Text{Text: "OK."})
	if err != nil {
		return err
	}
	defer func() { _ = sound.Close() }()
	if n, err := sound.Read(make([]int16, 1)); n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if n == 0 {
		return &callspeech.ServiceError{Status: http.StatusOK, Said: "speech is empty"}
	}
	return nil
}

// speechProblem says in one sentence what is wrong with a service.
func speechProblem(err error, s *callspeech.Service, half string) *trouble.Trouble {
	f, ok := errors.AsType[*callspeech.ServiceError](err)
	if !ok {
		return trouble.New("health.noReply", nil)
	}
	route := "/audio/transcriptions"
	switch {
	case half == speaking:
		route = "/audio/speech"
	case f.Streamed:
		route = "/realtime"
	}
	switch code := f.Status; {
	case callspeech.Silent(err):
		return late(s.Timeout())
	case f.Cause != nil:
		return unreachable(f.Cause, s.Timeout())
	case f.Said != "":
		return trouble.New("health.givesNothing", words.Values{"half": half, "said": f.Said})
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return keyRefused(code, s.HasKey())
	case code == http.StatusPaymentRequired:
		return noQuota()
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return trouble.New("health.noRoute", words.Values{"route": route, "status": strconv.Itoa(code)})
	case code == http.StatusTooManyRequests:
		return withStatus("health.busy", code)
	case code >= 300 && code < 400:
		return withStatus("health.redirects", code)
	case code >= 500:
		return withStatus("health.ownTrouble", code)
	default:
		return withStatus("health.refusesSpeech", code)
	}
}

// SpeechWorks tells for each half of speech whether callers can use it: one service
// that answers does.
func (c *Checker) SpeechWorks(ctx context.Context) (ears, voice call.Working, err error) {
	check, err := c.Check(ctx)
	if err != nil {
		return "", "", err
	}
	ears, voice = call.NoService, call.NoService
	for _, f := range check.Findings {
		half := &ears
		if f.Speech == speaking {
			half = &voice
		}
		switch {
		case f.Problem == "":
			*half = call.Works
		case *half == call.NoService:
			*half = call.Away
		}
	}
	return ears, voice, nil
}
