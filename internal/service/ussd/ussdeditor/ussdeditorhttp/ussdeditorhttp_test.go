package ussdeditorhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor/ussdeditorhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// TestDraftsAreReadAndTried: by operators alone, and without a word in the trail of
// what they changed, since nothing is.
func TestDraftsAreReadAndTried(t *testing.T) {
	t.Parallel()
	const token = "operator-token-of-a-test"
	server, err := httpserver.New(httpserver.Config{
		OperatorToken: token,
		Audit: func(context.Context, httpserver.OperatorIdentity, string, string) (func(int), error) {
			t.Error("a draft is in the trail")
			return func(int) {}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(ussdeditorhttp.Surface(ussdeditor.New(ussdmenu.Limits{}))); err != nil {
		t.Fatal(err)
	}
	ask := func(path, body, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/operator/ussd/menu/"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	body := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	menu := string(ussd.DefaultMenuSource())
	read := ask("draft", body(ussdeditorhttp.DraftRequest{Text: menu}), token)
	var draft ussdeditor.Draft
	if err := json.Unmarshal(read.Body.Bytes(), &draft); err != nil || len(draft.Parts) != 1 || len(draft.Issues) != 0 ||
		draft.Text != menu {
		t.Fatalf("read: %v, %.300s", err, read.Body)
	}
	form, err := ussdeditor.Format(t.Context(), []byte(menu))
	if err != nil {
		t.Fatal(err)
	}
	written := ask("draft", body(ussdeditorhttp.DraftRequest{Parts: draft.Parts}), token)
	formatted := ask("draft", body(ussdeditorhttp.DraftRequest{Text: menu, Format: true}), token)
	if written.Body.String() != formatted.Body.String() || !strings.Contains(written.Body.String(), body(string(form))) {
		t.Errorf("written: %.300s\nformatted: %.300s", written.Body, formatted.Body)
	}
	tried := ask("try", body(map[string]any{"text": menu, "inputs": []string{"1"}, "language": "sw"}), token)
	if !strings.Contains(tried.Body.String(), `"screen":"infoMenu"`) || !strings.Contains(tried.Body.String(), "Ungependa") {
		t.Errorf("tried: %s", tried.Body)
	}
	for name, c := range map[string]struct {
		path, body, token string
		status            int
	}{
		"nobody":     {"draft", `{"text":"name: x"}`, "x", http.StatusUnauthorized},
		"neither":    {"draft", `{}`, token, http.StatusBadRequest},
		"both":       {"draft", `{"text":"a: b","parts":[{"menu":{}}]}`, token, http.StatusBadRequest},
		"no menu":    {"draft", `{"parts":[{"menu":[]}]}`, token, http.StatusBadRequest},
		"nested":     {"draft", `{"parts":[{"menu":{"a":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}}]}`, token, http.StatusBadRequest},
		"no form":    {"draft", `{"text":"name: [","format":true}`, token, http.StatusBadRequest},
		"a bad menu": {"try", `{"text":"name: x","inputs":[]}`, token, http.StatusBadRequest},
	} {
		if w := ask(c.path, c.body, c.token); w.Code != c.status {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// A draft waits for the one before it, and nobody waits for a draft whose request is gone.
func TestDraftsWaitForEachOther(t *testing.T) {
	t.Parallel()
	server, err := httpserver.New(httpserver.Config{OperatorToken: "operator-token-of-a-test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(ussdeditorhttp.Surface(ussdeditor.New(ussdmenu.Limits{}))); err != nil {
		t.Fatal(err)
	}
	menu, err := json.Marshal(ussdeditorhttp.DraftRequest{Text: string(ussd.DefaultMenuSource())})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 1 {
				cancel()
			}
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/operator/ussd/menu/draft", bytes.NewReader(menu))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer operator-token-of-a-test")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if (w.Code == http.StatusOK) != (i%2 == 0) {
				t.Errorf("%d: %d %.200s", i, w.Code, w.Body)
			}
		})
	}
	all.Wait()
}
