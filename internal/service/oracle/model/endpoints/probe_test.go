package endpoints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/internal/service/oracle/model/zoo"
)

// troubled is a document with one endpoint, which does not work.
func troubled(t *testing.T, s *zoo.Troubled) *endpoints.Set {
	t.Helper()
	set, err := endpoints.Config{
		Getenv: func(string) string { return "sk-none" },
		Wire:   wire.Config{Transport: s.Transport(), Backoff: time.Millisecond},
	}.Parse(fmt.Appendf(nil, `
endpoints:
  far: {kind: %s, base_url: %q, key: {env: KEY}}
models:
  - {id: small, name: zoo, endpoint: far}
`, s.Kind, s.URL()), operatordoc.FromFile)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestTroublesAreSaidInOneSentence(t *testing.T) {
	t.Parallel()
	for _, trouble := range zoo.Troubles() {
		t.Run(trouble.Name, func(t *testing.T) {
			t.Parallel()
			s := zoo.OpenTrouble(trouble)
			defer s.Close()
			found := troubled(t, s).Probe(t.Context(), true)
			last := found[len(found)-1]
			if last.Problem != trouble.Says || strings.Contains(last.Text(), "sk-none") {
				t.Errorf("%+v\nwant %q", found, trouble.Says)
			}
			for _, f := range found[:len(found)-1] {
				if f.Problem != "" {
					t.Errorf("beside it: %+v", f)
				}
			}
		})
	}
}

func TestEndpointsThatWorkAreFoundToWork(t *testing.T) {
	t.Parallel()
	for _, c := range zoo.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := zoo.Open(c)
			defer s.Close()
			kind, how := "openai", ", wire: chat"
			switch c.Wire {
			case zoo.Messages:
				kind, how = "anthropic", ""
			case zoo.Responses:
				how = ", wire: responses"
			}
			set, err := endpoints.Config{
				Getenv: func(string) string {
					return "sk-some"
				}, Wire: wire.Config{Transport: s.Transport(), Backoff: time.Millisecond},
			}.Parse(fmt.Appendf(nil, "endpoints:\n  e: {kind: %s, base_url: %q, key: {env: KEY}}\nmodels:\n  - {id: m, name: %q, endpoint: e%s}\n", kind, c.Base, c.Model, how), operatordoc.FromFile)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range set.Probe(t.Context(), true) {
				if f.Problem != "" {
					t.Errorf("%s", f.Text())
				}
			}
		})
	}
}

// However many want to know, and however often they leave, an endpoint is asked
// once in a while.
func TestAnswersAreRemembered(t *testing.T) {
	t.Parallel()
	s := zoo.OpenTrouble(zoo.Trouble{Kind: "openai"})
	defer s.Close()
	set, now := troubled(t, s), time.Unix(1_800_000_000, 0)
	var mu sync.Mutex
	check := endpoints.NewChecker(func() *endpoints.Set {
		mu.Lock()
		defer mu.Unlock()
		return set
	}, func() time.Time { mu.Lock(); defer mu.Unlock(); return now })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := check.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	once := s.Asked()
	if got, err := check.Check(t.Context()); err != nil || s.Asked() != once || len(got.Findings) != 2 {
		t.Errorf("asked %d times, then %d: %+v, %v", once, s.Asked(), got, err)
	}
	mu.Lock()
	now = now.Add(31 * time.Second)
	mu.Unlock()
	if _, err := check.Check(t.Context()); err != nil || s.Asked() != 2*once {
		t.Errorf("asked %d times, want %d: %v", s.Asked(), 2*once, err)
	}
	mu.Lock()
	set = troubled(t, s)
	mu.Unlock()
	if _, err := check.Check(t.Context()); err != nil || s.Asked() != 3*once {
		t.Errorf("another document: asked %d times, want %d: %v", s.Asked(), 3*once, err)
	}
}
