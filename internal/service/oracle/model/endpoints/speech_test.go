package endpoints_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
)

const spoken = `
endpoints:
  here: {kind: openai, base_url: http://127.0.0.1:9/v1}
  guide: {kind: guide}
models: [{id: guide, endpoint: guide}]
speech:
  hearing: [{endpoint: here, model: whisper-1}]
  voice: [{endpoint: here, model: tts-1, voice: amy, voices: {de: thorsten}, languages: [en, de], format: wav, timeout: 3s}]
`

func TestMistakesOfSpeechAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, says string }{
		"good":                   {"", "", ""},
		"another endpoint":       {"[{endpoint: here, model: w", "[{endpoint: there, model: w", `speech: hearing 1 ("there"): there is no such endpoint`},
		"the guide":              {"[{endpoint: here, model: w", "[{endpoint: guide, model: w", "an endpoint of the kind guide has no speech"},
		"no model":               {", model: whisper-1", "", "model has 1 to 128 letters"},
		"a voice for the ears":   {"model: whisper-1", "model: whisper-1, voice: amy", "voice, voices and format are for those who speak"},
		"a stream of the ears":   {"model: whisper-1", "model: whisper-1, stream: true", ""},
		"a stream of a voice":    {"model: tts-1", "model: tts-1, stream: true", "stream is for those who hear"},
		"no voice":               {"voice: amy, ", "", `speech: voice 1 ("here"): name a voice`},
		"a format of its own":    {"format: wav", "format: mp3", "format is pcm or wav"},
		"a language that is not": {"languages: [en, de]", "languages: [English]", `"English" is not a language such as en or sw`},
		"a long wait":            {"timeout: 3s", "timeout: 31s", "speech: voice: the timeouts add up to 31s, and a caller waits for 30s"},
		"an unknown word":        {"hearing:", "ears:", `unknown key "ears"`},
	} {
		_, err := config().Parse([]byte(strings.Replace(spoken, c.from, c.to, 1)), operatordoc.FromFile)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A service that understands what it is sent whole, and not while it is spoken, is told so.
func TestAStreamIsTriedToo(t *testing.T) {
	t.Parallel()
	speech := calltest.NewSpeech(t)
	for stream, want := range map[string]string{
		speech.URL + "/v1": "", speech.URL + "/v1/other": "there is no /realtime at its base_url (status 404), or it knows no such model",
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /audio/transcriptions", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"text":""}`) })
		to, err := url.Parse(stream)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(to)
		mux.HandleFunc("GET /realtime", func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer a key") // of the service behind
			proxy.ServeHTTP(w, r)
		})
		far := httptest.NewServer(mux)
		t.Cleanup(far.Close)
		found := parsed(t, fmt.Sprintf(`
endpoints:
  far: {kind: openai, base_url: %q, key: {env: FAR_KEY}}
  guide: {kind: guide}
models: [{id: guide, endpoint: guide}]
speech: {hearing: [{endpoint: far, model: ears, stream: true}]}
`, far.URL)).ProbeSpeech(t.Context())
		if len(found) != 1 || found[0].Problem != want {
			t.Errorf("found %+v, want %q", found, want)
		}
	}
}

// audio is a server of speech that answers everything alike.
func audio(t *testing.T, answer http.HandlerFunc) *endpoints.Set {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return parsed(t, fmt.Sprintf(`
endpoints:
  far: {kind: openai, base_url: %q, key: {env: FAR_KEY}}
  guide: {kind: guide}
models: [{id: guide, endpoint: guide}]
speech:
  hearing: [{endpoint: far, model: ears, timeout: 200ms}]
  voice: [{endpoint: far, model: mouth, voice: v, timeout: 200ms}]
`, s.URL+"/v1"))
}

func parsed(t *testing.T, text string) *endpoints.Set {
	t.Helper()
	set, err := config().Parse([]byte(text), operatordoc.FromFile)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestWhatIsWrongWithSpeechIsSaidInOneSentence(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer      http.HandlerFunc
		ears, voice string
	}{
		"a key that is refused": {status(401), "the key was refused (status 401)", "the key was refused (status 401)"},
		"another path": {
			status(404),
			"there is no /audio/transcriptions at its base_url (status 404), or it knows no such model",
			"there is no /audio/speech at its base_url (status 404), or it knows no such model",
		},
		"a bad request": {
			status(422), "it refuses what it was asked (status 422): look at its model, voice and format",
			"it refuses what it was asked (status 422): look at its model, voice and format",
		},
		"its own trouble": {status(500), "it has trouble of its own (status 500)", "it has trouble of its own (status 500)"},
		"a redirect": {
			status(307), "it answers with a redirect (status 307): base_url is not quite right",
			"it answers with a redirect (status 307): base_url is not quite right",
		},
		"silence": {
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"it did not answer within 200ms", "it did not answer within 200ms",
		},
		"a page": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello</html>")) },
			"it gives no text back: transcription has no text", "it gives no sound back: speech is text/html",
		},
		"nothing": {status(200), "it gives no text back: transcription has no text", "it gives no sound back: speech is empty"},
		"music": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "audio/pcm")
				_, _ = w.Write([]byte("ID3\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
			}, "it gives no text back: transcription has no text", "it gives no sound back: speech is MP3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := audio(t, c.answer).ProbeSpeech(t.Context())
			var got []string
			for _, f := range found {
				got = append(got, f.Speech+" "+f.Model+": "+f.Problem)
				if strings.Contains(f.Text(), "sk-far") {
					t.Errorf("the key is in %q", f.Text())
				}
			}
			if diff := cmp.Diff([]string{"hearing ears: " + c.ears, "voice mouth: " + c.voice}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallersAreToldWhetherSpeechWorks(t *testing.T) {
	t.Parallel()
	works := func(set *endpoints.Set) string {
		check := endpoints.NewSpeechChecker(func() *endpoints.Set { return set }, time.Now)
		ears, voice, err := check.SpeechWorks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(ears + " " + voice)
	}
	if got := works(parsed(t, "endpoints: {g: {kind: guide}}\nmodels: [{id: g, endpoint: g}]\n")); got != "none none" {
		t.Errorf("without services: %s", got)
	}
	set := audio(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/transcriptions") {
			_, _ = w.Write([]byte(`{"text":" [BLANK_AUDIO]\n"}`))
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	if got := works(set); got != "works away" {
		t.Errorf("half of it: %s", got)
	}
	for _, f := range set.Probe(t.Context(), true) {
		if f.Endpoint == "far" {
			t.Errorf("an endpoint for speech alone was asked for models: %+v", f)
		}
	}
	if in := (endpoints.InForce{Document: fixed{set}}); in.Hearing() == nil || in.Voice() == nil {
		t.Error("the services are not in force")
	}
}

type fixed struct{ set *endpoints.Set }

func (f fixed) Value() *endpoints.Set { return f.set }

// The variables of one service of each half stand where the document names none.
func TestVariablesStandForServicesThatTheDocumentLeavesOut(t *testing.T) {
	t.Parallel()
	variables := func(c *endpoints.Config) {
		c.Speech = endpoints.SpeechVariables{HearURL: "http://127.0.0.1:9/v1", HearModel: "w", VoiceURL: "http://127.0.0.1:9/v1", Voice: "v"}
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing in the document": {two, []string{"SPEECH_TO_TEXT_URL", "TEXT_TO_SPEECH_URL"}},
		"its own ears":            {spoken[:strings.Index(spoken, "  voice:")], []string{"here", "TEXT_TO_SPEECH_URL"}},
		"all its own":             {spoken, []string{"here", "here"}},
	} {
		set, err := config(variables).Parse([]byte(c.text), operatordoc.FromFile)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range set.ProbeSpeech(t.Context()) {
			got = append(got, f.Endpoint)
			if f.Problem != "nothing listens there (connection refused)" {
				t.Errorf("%s: %s", name, f.Text())
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
