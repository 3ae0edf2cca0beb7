package knowledgeembed_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeembed"
)

func service(t *testing.T, answer http.HandlerFunc) *knowledgeembed.Service {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	s, err := knowledgeembed.New(knowledgeembed.Config{BaseURL: server.URL + "/v1/", Key: "sesame", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The request is OpenAI's, and vectors come in the order of the texts whatever the
// order of the answer.
func TestEmbed(t *testing.T) {
	t.Parallel()
	s := service(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model, EncodingFormat string
			Input                 []string
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sesame" {
			t.Errorf("%s %v %v", r.URL.Path, r.Header, err)
		}
		if diff := cmp.Diff([]string{"a", "b"}, body.Input); diff != "" || body.Model != "m" {
			t.Errorf("%s %s", body.Model, diff)
		}
		_, _ = w.Write([]byte(`{"object":"list","model":"m","data":[{"object":"embedding","index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2.5]}],"usage":{"prompt_tokens":2}}`))
	})
	got, err := s.Embed(t.Context(), []string{"a", "b"})
	if diff := cmp.Diff([][]float32{{1, 2.5}, {3, 4}}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

// Answers that are none are errors, which quote neither the key nor a text; what is
// about a text is told apart from an outage.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		body    string
		refused bool
	}{
		"refused":         {400, `{"error":{"message":"secret words are too long, sesame"}}`, true},
		"too large":       {413, "", true},
		"unprocessable":   {422, "", true},
		"no key":          {401, "secret words sesame", false},
		"no model":        {404, "secret words sesame", false},
		"busy":            {429, "", false},
		"out":             {503, "", false},
		"moved":           {302, "", false},
		"no JSON":         {200, "secret words", false},
		"too few":         {200, `{"data":[]}`, false},
		"too many":        {200, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]}]}`, false},
		"another's":       {200, `{"data":[{"index":7,"embedding":[1]}]}`, false},
		"empty":           {200, `{"data":[{"index":0,"embedding":[]}]}`, false},
		"not numbers":     {200, `{"data":[{"index":0,"embedding":["secret words"]}]}`, false},
		"too large a one": {200, `{"data":[{"index":0,"embedding":[1e300]}]}`, false},
		"too long":        {200, `{"data":[{"index":0,"embedding":[` + strings.Repeat("1,", 5000) + `1]}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			_, err := s.Embed(t.Context(), []string{"secret words"})
			if err == nil || errors.Is(err, knowledge.ErrRefusedText) != c.refused || strings.Contains(err.Error(), "secret") ||
				strings.Contains(err.Error(), "sesame") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestWhatIsNoService(t *testing.T) {
	t.Parallel()
	for _, cfg := range []knowledgeembed.Config{{BaseURL: "ftp://a", Model: "m"}, {BaseURL: "http://a"}, {Model: "m"}} {
		if _, err := knowledgeembed.New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
