package endpointshttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints/endpointshttp"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
)

const secret = "sk-of-a-community"

type deployment struct {
	server *httpserver.Server
	shelf  *operatordoc.Shelf
}

// newDeployment has the routes over a shelf whose document of models the text rules, if there
// is one.
func newDeployment(t *testing.T, db *sqldb.DB, ruled string) deployment {
	t.Helper()
	models := endpoints.Config{
		Guide: scripted.New(nil), Getenv: func(string) string { return secret },
		Seal: sealing.Sealer{Key: []byte(strings.Repeat("k", 32)), Purpose: endpoints.Purpose},
	}
	shelf := operatordoc.NewShelf(operatordocsql.New(db), operatordoc.Config{})
	def, err := endpoints.Definition(models, endpoints.Variables{}, ruled, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operatordoc.Put(shelf, def); err != nil {
		t.Fatal(err)
	}
	server, err := httpserver.New(httpserver.Config{OperatorToken: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	d := endpointshttp.Writer{Shelf: shelf, Models: models, Author: func(*http.Request) string { return "Ada" }}
	if err := server.Mount(d.Surface()); err != nil {
		t.Fatal(err)
	}
	return deployment{server, shelf}
}

func (d deployment) ask(t *testing.T, method, path, body, match string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/operator/models/"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer hush")
	r.Header.Set("Content-Type", "application/json")
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	w := httptest.NewRecorder()
	d.server.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), secret) {
		t.Errorf("%s %s shows the key", method, path)
	}
	return w
}

func (d deployment) single(t *testing.T) (body endpointshttp.SingleBody) {
	t.Helper()
	w := d.ask(t, http.MethodGet, "single", "", "")
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return body
}

func each(t *testing.T, body func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, sqldbtest.Migrate(t, open(t), operatordocsql.Migrations()))
	})
}

// endpoint is a model that answers whoever has the key.
func endpoint(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = w.Write([]byte(`{"data":[{"id":"small"}]}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestAModelIsTriedAndChosen(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		d, at := newDeployment(t, db, ""), endpoint(t)
		if got := d.single(t); got.Kind != "guide" || !got.Whole || got.ReadOnly || got.Newest != 0 {
			t.Errorf("at first: %+v", got)
		}
		with := func(model, key string) string {
			body := map[string]string{"kind": "openai", "address": at, "model": model}
			if key != "" {
				body["key"] = key
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		tried := func(body string) (check endpointshttp.CheckBody) {
			w := d.ask(t, http.MethodPost, "try", body, "")
			if err := json.Unmarshal(w.Body.Bytes(), &check); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			return check
		}
		if got := tried(with("small", "sk-wrong")); got.OK || !strings.Contains(got.Findings[0].Problem, "refuse") {
			t.Errorf("a wrong key: %+v", got)
		}
		if got := tried(with("small", secret)); !got.OK || len(got.Findings) != 2 {
			t.Errorf("a model that answers: %+v", got)
		}
		if got := d.single(t); got.Newest != 0 {
			t.Errorf("trying stored something: %+v", got)
		}
		if w := d.ask(t, http.MethodPut, "single", with("small", secret), `"0"`); w.Code != http.StatusOK ||
			w.Header().Get("ETag") != `"1"` {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if got := d.single(t); got.Model != "small" ||
			got.Address != at || !got.KeyGiven || !got.Whole || got.Source != "database" {
			t.Errorf("chosen: %+v", got)
		}
		stored, err := d.shelf.StoredVersion(t.Context(), "models", 1)
		if err != nil || strings.Contains(string(stored.Text), secret) || stored.Author != "Ada" {
			t.Errorf("stored: %s, %v", stored.Text, err)
		}
		if got := tried(with("small", "")); !got.OK { // by the stored key
			t.Errorf("with the stored key: %+v", got)
		}
		if w := d.ask(t, http.MethodPut, "single", with("large", ""), `"1"`); w.Code != http.StatusOK ||
			!d.single(t).KeyGiven {
			t.Errorf("another model with the same key: %d %s", w.Code, w.Body)
		}
		elsewhere := strings.ReplaceAll(with("large", ""), "/v1", "/v2")
		for _, path := range []string{"single", "try"} {
			method := map[string]string{"single": http.MethodPut, "try": http.MethodPost}[path]
			if w := d.ask(t, method, path, elsewhere, `"2"`); w.Code != http.StatusBadRequest ||
				!strings.Contains(w.Body.String(), "write the key itself again") {
				t.Errorf("%s: the key goes to another address: %d %s", path, w.Code, w.Body)
			}
		}
		if w := d.ask(t, http.MethodPut, "single", `{"kind":"guide"}`, `"2"`); w.Code != http.StatusOK ||
			d.single(t).Kind != "guide" {
			t.Errorf("no language model: %d %s", w.Code, w.Body)
		}
	})
}

func TestWhatAFormWouldLoseIsNotWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *sqldb.DB) {
		d := newDeployment(t, db, "")
		for i, text := range []string{
			"endpoints: {a: {kind: guide}, b: {kind: openai, base_url: 'http://127.0.0.1:9/v1'}}\nmodels: [{id: m, endpoint: b}]\n",
			"endpoints: {b: {kind: openai, base_url: 'http://127.0.0.1:9/v1'}}\nmodels: [{id: m, endpoint: b}, {id: n, endpoint: b}]\n",
			"endpoints: {b: {kind: openai, base_url: 'http://127.0.0.1:9/v1'}}\nmodels: [{id: m, endpoint: b, prices: {input: 1, output: 2}}]\n",
			"endpoints: {b: {kind: openai, base_url: 'http://127.0.0.1:9/v1', idle_timeout: 1m}}\nmodels: [{id: m, endpoint: b}]\n",
			"endpoints: {a: {kind: guide}}\nmodels: [{id: mine, endpoint: a}]\n",
		} {
			if _, err := d.shelf.Store(t.Context(), "models", []byte(text), operatordoc.Change{After: int64(i)}); err != nil {
				t.Fatal(err)
			}
			if got := d.single(t); got.Whole {
				t.Errorf("%s: %+v", text, got)
			}
			if w := d.ask(t, http.MethodPut, "single", `{"kind":"guide"}`, `"`+string(rune('1'+i))+`"`); w.Code != http.StatusConflict ||

				!strings.Contains(w.Body.String(), "as a text") {
				t.Errorf("%s: %d %s", text, w.Code, w.Body)
			}
		}
	})
}

func TestBadModels(t *testing.T) {
	t.Parallel()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), operatordocsql.Migrations())
	d := newDeployment(t, db, "")
	for _, c := range []struct {
		name, body, match string
		status            int
		says              string
	}{
		{"no version", `{"kind":"guide"}`, "", 400, "If-Match"},
		{"an unknown member", `{"kinds":"guide"}`, `"0"`, 400, "kinds"},
		{"an unknown kind", `{"kind":"oracle"}`, `"0"`, 400, "allowed is openai"},
		{"a guide with an address", `{"kind":"guide","address":"http://a"}`, `"0"`, 400, "a kind only"},
		{"no model", `{"kind":"openai","address":"http://127.0.0.1:9/v1"}`, `"0"`, 400, "id and name"},
		{"a bad address", `{"kind":"openai","address":"ollama","model":"m"}`, `"0"`, 400, "base_url is not an address"},
		{"a password in it", `{"kind":"openai","address":"http://a:b@c/v1","model":"m"}`, `"0"`, 400, "give a key instead"},
		{"a key of two lines", `{"kind":"openai","model":"m","key":"a\nb"}`, `"0"`, 400, "a key has letters"},
		{"a sealed key", `{"kind":"openai","model":"m","key":"sealed:aaaa"}`, `"0"`, 400, "write the key itself"},
		{"an old version", `{"kind":"openai","model":"m"}`, `"3"`, 412, "newest"},
	} {
		if w := d.ask(t, http.MethodPut, "single", c.body, c.match); w.Code != c.status ||
			!strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	ruled := newDeployment(t, db, "endpoints: {e: {kind: openai, base_url: {env: WHERE}, key: {env: KEY}}}\nmodels: [{id: m, endpoint: e}]\n")
	if got := ruled.single(t); !got.ReadOnly ||
		got.Where != "MODELS" || got.Model != "m" || got.Address != "" || !got.KeyGiven {
		t.Errorf("ruled from outside: %+v", got)
	}
	if w := ruled.ask(t, http.MethodPut, "single", `{"kind":"guide"}`, `"0"`); w.Code != http.StatusConflict ||
		!strings.Contains(w.Body.String(), "MODELS") {
		t.Errorf("changed under a variable: %d %s", w.Code, w.Body)
	}
}
