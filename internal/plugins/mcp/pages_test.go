package mcp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
)

// pages speaks as the program does.
func pages(w http.ResponseWriter, r *http.Request) mcp.Voice {
	in := wordshttp.Speaker{}.Choose(w, r)
	return mcp.Voice{Language: in.Code, Direction: in.Direction, Say: in.Language.Say}
}

// Somebody who comes back with a link that is over reads so in their language.
func TestALinkThatIsOverIsToldInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := open(t, private)
	for accept, want := range map[string]string{
		"ar-EG,ar;q=0.9,en;q=0.8": `<html lang="ar" dir="rtl">`, "fr": "dix minutes sont écoulées", "sw": "Hairuhusiwi", "de": "Not authorized",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/mcp-servers/callback?state=none", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", accept)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusGone || !strings.Contains(string(page), want) ||
			res.Header.Get("Content-Language") == "" || !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Accept-Language") {
			t.Errorf("%s: %d %v %v\n%s", accept, res.StatusCode, res.Header, err, page)
		}
	}
}
