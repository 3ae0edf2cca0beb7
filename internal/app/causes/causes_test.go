package causes_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
)

// TestACauseIsKnownSinceItBegan lets a part fail between two looks of people: the
// watch has seen it begin, and forgets it when it is gone.
func TestACauseIsKnownSinceItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var asked atomic.Int64
		watch := causes.New([]causes.Part{
			{Name: "chain", Look: func(context.Context) []*trouble.Trouble {
				if away.Load() {
					return []*trouble.Trouble{trouble.New("health.chainApart", words.Values{"chain": "main"}).With("tried at " + time.Now().String())}
				}
				return nil
			}},
			{Name: "models", Costly: true, Look: func(context.Context) []*trouble.Trouble { asked.Add(1); return nil }},
		}, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = watch.Run(ctx) }()
		time.Sleep(time.Minute)
		away.Store(true)
		began := time.Now()
		time.Sleep(time.Hour)
		if asked.Load() != 0 {
			t.Errorf("what costs was asked %d times without need", asked.Load())
		}
		got := watch.Report(ctx, words.Shipped().English())
		if len(got.Parts[0].Causes) != 1 {
			t.Fatalf("%+v", got)
		}
		since, err := time.Parse(time.RFC3339, got.Parts[0].Causes[0].Since)
		if err != nil || since.Before(began.Add(-time.Second)) || since.After(began.Add(time.Minute)) || got.OK ||
			got.Parts[0].OK || !got.Parts[1].OK {
			t.Errorf("%+v, want since about %s", got, began.UTC())
		}
		away.Store(false)
		want := causes.Report{OK: true, Parts: []causes.PartBody{
			{Name: "chain", OK: true, Causes: []causes.Cause{}}, {Name: "models", OK: true, Causes: []causes.Cause{}},
		}}
		if diff := cmp.Diff(want, watch.Report(ctx, words.Shipped().English())); diff != "" {
			t.Errorf("after it came back (- want):\n%s", diff)
		}
		stop()
		<-ended
	})
}

// TestAPartThatSaysNothingIsNotWell asks one that hangs.
func TestAPartThatSaysNothingIsNotWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		watch := causes.New([]causes.Part{{Name: "store", Needed: true, Look: func(ctx context.Context) []*trouble.Trouble {
			<-ctx.Done()
			return nil
		}}}, nil)
		got := watch.Report(t.Context(), words.Shipped().English())
		if got.OK || len(got.Parts[0].Causes) != 1 || !got.Parts[0].Needed {
			t.Errorf("%+v", got)
		}
	})
}

// TestCausesAreToldInTheLanguageOfTheReader: by the address, by the header, and in English
// to programs that ask for none, always with codes that do not change.
func TestCausesAreToldInTheLanguageOfTheReader(t *testing.T) {
	t.Parallel()
	refused := trouble.New("health.keyRefused", words.Values{"status": "401"})
	watch := causes.New([]causes.Part{{Name: "models", Look: func(context.Context) []*trouble.Trouble {
		of := words.Values{"endpoint": "main", "host": "a.b", "model": "m"}
		return []*trouble.Trouble{refused.Of("health.endpointModel", of)}
	}}, {Name: "text messages", Look: func(context.Context) []*trouble.Trouble {
		return []*trouble.Trouble{trouble.New("health.messagesWait", nil).With("status 500")}
	}}}, nil)
	server, err := httpserver.New(httpserver.Config{OperatorToken: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(watch.Surface()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ target, accept, language, model, texts string }{
		{"", "", "en", "endpoint main (a.b), model m: the key was refused (status 401)", "messages wait for their gateway; status 500"},
		{"", "de", "en", "endpoint main (a.b), model m: the key was refused (status 401)", "messages wait for their gateway; status 500"},
		{"", "fr-CH", "fr", "point d’accès main (a.b), modèle m : la clé a été refusée (statut 401)", "des messages attendent leur passerelle ; status 500"}, //nolint:misspell // French
		{"?language=sw", "fr", "sw", "kituo main (a.b), modeli m: ufunguo ulikataliwa (hali 401)", "ujumbe unasubiri lango lake; status 500"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/operator/health"+c.target, http.NoBody)
		r.Header.Set("Authorization", "Bearer t")
		r.Header.Set("Accept-Language", c.accept)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		var got causes.Report
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Header().Get("Content-Language") != c.language {
			t.Fatalf("%d %v %s: %v", w.Code, w.Header(), w.Body, err)
		}
		want := []causes.Cause{
			{
				Text: c.model, Reason: causes.Reason{Code: "endpointModel", Values: map[string]string{"endpoint": "main", "host": "a.b", "model": "m"}},
				Because: &causes.Reason{Code: "keyRefused", Values: map[string]string{"status": "401"}},
			},
			{Text: c.texts, Reason: causes.Reason{Code: "messagesWait"}, Detail: "status 500"},
		}
		for i, part := range got.Parts {
			part.Causes[0].Since = ""
			if diff := cmp.Diff(want[i], part.Causes[0]); diff != "" {
				t.Errorf("%s %s (- want):\n%s", c.target, c.accept, diff)
			}
		}
	}
}
