package wordshttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
)

func TestAPageSaysItsLanguage(t *testing.T) {
	t.Parallel()
	french, err := wordshttp.Usual("fr")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, accept, code, asked string }{
		{"/", "", "fr", ""},
		{"/", "ar, sw;q=0.5", "ar", ""},
		{"/?language=sw", "ar", "sw", "?language=sw"},
		{"/?language=%3Cb%3E", "ar", "ar", ""},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, c.target, nil)
		w.Header().Set("Vary", "Accept")
		if c.accept != "" {
			r.Header.Set("Accept-Language", c.accept)
		}
		_ = french.Choose(w, r) // a second choice says nothing twice
		p := french.Choose(w, r)
		if p.Code != c.code || p.Asked != c.asked || w.Header().Get("Content-Language") != c.code ||
			strings.Join(w.Header().Values("Vary"), ", ") != "Accept, Accept-Language" {
			t.Errorf("%s, %s: %s %q %v", c.target, c.accept, p.Code, p.Asked, w.Header())
		}
	}
	if _, err := wordshttp.Usual("xx"); err == nil || !strings.Contains(err.Error(), "only en, ar, fr, sw") {
		t.Errorf("a language that nobody speaks: %v", err)
	}
}
