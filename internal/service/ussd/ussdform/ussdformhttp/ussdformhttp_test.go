package ussdformhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdform/ussdformhttp"
)

// shelf has one submission.
type shelf struct{ gone bool }

func (s *shelf) Forms(context.Context) ([]ussdform.Count, error) {
	return []ussdform.Count{{Form: "harvest", Submissions: 1}}, nil
}

func (s *shelf) Submissions(_ context.Context, form, after string, limit int) ([]ussdform.Submission, error) {
	if form != "harvest" || after != "" || limit < 1 {
		return nil, nil
	}
	return []ussdform.Submission{{
		ID: "1", Form: "harvest", Phone: "+254700000001", At: time.Unix(0, 0),
		Values: []ussdform.Value{{Field: "name", Kind: ussdform.Text, Text: "=Ann"}},
	}}, nil
}

func (s *shelf) Fields(context.Context, string) ([]string, error) { return []string{"name"}, nil }

func (s *shelf) DeleteSubmission(_ context.Context, form, id string) (bool, error) {
	was := form == "harvest" && id == "1" && !s.gone
	s.gone = s.gone || was
	return was, nil
}

// TestOperatorsReadForms: nobody else does, and numbers are masked unless an export
// asks for them.
func TestOperatorsReadForms(t *testing.T) {
	t.Parallel()
	server, err := httpserver.New(httpserver.Config{OperatorToken: "operator-token-of-a-test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(ussdformhttp.Surface(&shelf{})); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path string
		status       int
		has, hasNot  string
	}{
		{http.MethodGet, "", 200, `"submissions":1`, ""},
		{http.MethodGet, "/harvest", 200, `"value":"=Ann"`, "254700000001"},
		{http.MethodGet, "/harvest?limit=501", 400, "limit must be 1 to 500", ""},
		{http.MethodGet, "/harvest?limit=x", 400, "limit", ""},
		{http.MethodGet, "/other", 200, `"submissions":[]`, ""},
		{http.MethodGet, "/harvest/csv", 200, ",'=Ann\n", "254700000001"},
		{http.MethodGet, "/harvest/csv?numbers=true", 200, ",'+254700000001,", ""},
		{http.MethodDelete, "/harvest/2", 404, "no such submission", ""},
		{http.MethodDelete, "/harvest/1", 200, `"submission":"1"`, ""},
		{http.MethodDelete, "/harvest/1", 404, "no such submission", ""},
	} {
		for _, operator := range []bool{false, true} {
			r := httptest.NewRequest(tc.method, "/operator/ussd/forms"+tc.path, nil)
			if operator {
				r.Header.Set("Authorization", "Bearer operator-token-of-a-test")
			}
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			body := w.Body.String()
			switch {
			case !operator && (w.Code == 200 || strings.Contains(body, "Ann")):
				t.Errorf("%s %s: a stranger gets %d %s", tc.method, tc.path, w.Code, body)
			case operator && (w.Code != tc.status || !strings.Contains(body, tc.has) ||
				tc.hasNot != "" && strings.Contains(body, tc.hasNot)):
				t.Errorf("%s %s: %d %s", tc.method, tc.path, w.Code, body)
			}
		}
	}
}

// TestViewersSeeNoNumbers: whoever may only look gets an export with numbers masked, and no other.
func TestViewersSeeNoNumbers(t *testing.T) {
	t.Parallel()
	for role, want := range map[httpserver.Role]int{
		httpserver.Viewer: http.StatusForbidden, httpserver.Changer: http.StatusOK,
	} {
		server, err := httpserver.New(httpserver.Config{
			SignedOperator: func(*http.Request) (httpserver.OperatorIdentity, error) {
				return httpserver.OperatorIdentity{Name: "did:key:zSomebody", Role: role}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Mount(ussdformhttp.Surface(&shelf{})); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/harvest/csv": http.StatusOK, "/harvest/csv?numbers=true": want} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/operator/ussd/forms"+path, nil)
			r.Header.Set("Authorization", "Bearer signed")
			server.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s as %s: %d %s", path, role, w.Code, w.Body)
			}
		}
	}
}
