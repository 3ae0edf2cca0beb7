package httpserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// matches is what a pattern means, written plainly: the values of the
// variables, and a rank whose smaller word is the better match.
func matches(pattern, path string) (values []string, rank string, ok bool) {
	want, have := strings.Split(pattern[1:], "/"), strings.Split(path[1:], "/")
	for i, seg := range want {
		if strings.HasSuffix(seg, "...}") {
			if i >= len(have) {
				return nil, "", false
			}
			rest, _ := url.PathUnescape(strings.Join(have[i:], "/"))
			return append(values, rest), rank + "c", true
		}
		if i >= len(have) {
			return nil, "", false
		}
		value, _ := url.PathUnescape(have[i])
		switch {
		case strings.HasPrefix(seg, "{") && value != "":
			values, rank = append(values, value), rank+"b"
		case seg == value && !strings.HasPrefix(seg, "{"):
			rank += "a"
		default:
			return nil, "", false
		}
	}
	return values, rank, len(want) == len(have)
}

// The tree finds what a plain look at every pattern finds.
func TestRoutingAgainstAModel(t *testing.T) {
	t.Parallel()
	literal := rapid.SampledFrom([]string{"a", "b", "c:d", "$e", "f/g", ""})
	rapid.Check(t, func(t *rapid.T) {
		s, err := httpserver.New(httpserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var served string
		var values []string
		patterns := map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "routes") {
			pattern := drawPattern(t, literal)
			method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method")
			r := route(method, pattern, func(_ http.ResponseWriter, r *http.Request) error {
				served, values = method+" "+pattern, nil
				for seg := range strings.SplitSeq(pattern[1:], "/") {
					if name, ok := strings.CutPrefix(seg, "{"); ok {
						values = append(values, r.PathValue(strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")))
					}
				}
				return nil
			})
			if s.Mount(httpserver.Surface{Name: "x", Routes: []httpserver.Route{r}}) == nil {
				patterns[method+" "+pattern] = true
			}
		}
		for range 20 {
			path := ""
			for range rapid.IntRange(1, 4).Draw(t, "depth") {
				path += "/" + url.PathEscape(literal.Draw(t, "segment"))
			}
			best, bestRank, wantValues, otherMethod := "", "", []string(nil), false
			for key := range patterns {
				method, pattern, _ := strings.Cut(key, " ")
				v, rank, ok := matches(pattern, path)
				switch {
				case !ok:
				case method != "GET":
					otherMethod = true
				case best == "" || rank < bestRank:
					best, bestRank, wantValues = key, rank, v
				}
			}
			served, values = "", nil
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			wantStatus := http.StatusOK
			switch {
			case best == "" && otherMethod:
				wantStatus = http.StatusMethodNotAllowed
			case best == "":
				wantStatus = http.StatusNotFound
			}
			if served != best || w.Code != wantStatus || strings.Join(values, "|") != strings.Join(wantValues, "|") {
				t.Fatalf("GET %s: served by %q with %q and %d, want %q with %q and %d, of %v", path, served, values, w.Code, best, wantValues, wantStatus, patterns)
			}
		}
	})
}

func drawPattern(t *rapid.T, literal *rapid.Generator[string]) string {
	pattern, depth := "", rapid.IntRange(1, 4).Draw(t, "depth")
	for i := range depth {
		name := string(rune('p' + i))
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0 && i == depth-1:
			pattern += "/{" + name + "...}"
		case kind <= 2:
			pattern += "/{" + name + "}"
		default:
			pattern += "/" + strings.ReplaceAll(literal.Draw(t, "literal"), "/", "")
		}
	}
	return pattern
}
