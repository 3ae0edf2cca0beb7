package turn_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// Every request to a model is counted, by who asked it and how it ended.
func TestRequestsToModelsAreCounted(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Messages[len(req.Messages)-1].Text == "fail" {
			return scripted.Reply{Err: &model.Error{Kind: model.Network}}
		}
		if len(req.Messages) == 1 && req.Purpose == "turn" && req.Messages[0].Text == "delegate" {
			return calls("call_clerk", `{"task":"count"}`)
		}
		r := scripted.Text("well")
		r.Usage = plugin.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 2, ReasoningTokens: 1, CostMicros: 5}
		if req.Purpose == "title" {
			r.Usage = plugin.Usage{}
		}
		return r
	}), with(&desk{}))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	alice.Say(session, "one")
	alice.Say(session, "fail")
	alice.Say(alice.Session(), "delegate")
	if r := alice.Do(http.MethodPost, "/v1/chat/completions",
		map[string]any{"messages": []any{map[string]any{"role": "user", "content": "two"}}}); r.Status != 200 {
		t.Fatalf("by a face: %d %s", r.Status, r.Body)
	}
	if _, err := n.Turns.AskFor(t.Context(), plugin.Question{
		UserDID: identitytest.Alice.DID, SessionID: session,
		RequestID: "q1", Message: "three",
	}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Turns.Named("team").Ask(t.Context(),
		plugin.Question{UserDID: identitytest.Alice.DID, SessionID: session, RequestID: "q2", Message: "four"}); err != nil {
		t.Fatal(err)
	}
	n.Stop() // it writes what was counted
	today := oracle.DayOf(time.Now())
	rows, err := n.Store.Usage(t.Context(), usage.Query{
		From: today - 1, To: today, By: []usage.Dimension{usage.BySource}, Owner: identitytest.Alice.DID,
	})
	if err != nil {
		t.Fatal(err)
	}
	spent := plugin.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 2, ReasoningTokens: 1, CostMicros: 5}
	got := map[string]plugin.Usage{}
	for _, r := range rows {
		got[r.Source] = r.Usage
		if r.Firsts == 0 || (r.Failed > 0) != (r.Source == "oracle") {
			t.Errorf("counted: %+v", r)
		}
	}
	twice := spent.Add(spent).Add(plugin.Usage{InputTokens: 1, OutputTokens: 1}) // and the request that delegates
	want := map[string]plugin.Usage{"oracle": twice, "face": spent, "telephone": spent, "team": spent, "desk": spent}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("counted (-want +got):\n%s", d)
	}
}

// Spans say what was asked of which model, and nothing of what was said.
func TestRequestsToModelsAreTraced(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, scripted.Sequence(scripted.Text("a secret answer")))
	session, err := n.Service.CreateSession(t.Context(), oracletest.Owner)
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu   sync.Mutex
		said []string
	)
	note := func(attrs []slog.Attr) {
		mu.Lock()
		defer mu.Unlock()
		for _, a := range attrs {
			said = append(said, a.String())
		}
	}
	spans := func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error, ...slog.Attr)) {
		note(append(attrs, slog.String("name", name)))
		return ctx, func(_ error, more ...slog.Attr) { note(more) }
	}
	started, err := n.Engine.Start(t.Context(), run.Start{
		Owner: oracletest.Owner, SessionID: session.ID, RequestID: "r", Request: oracle.TurnRequest{Message: "a secret question"},
		Carried: oracle.Carried{Spans: spans},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Reader.Close()
	if _, err := n.Engine.Await(t.Context(), started); err != nil {
		t.Fatal(errors.Unwrap(err))
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{
		"name=chat scripted", "gen_ai.operation.name=chat", "gen_ai.provider.name=scripted", "gen_ai.request.model=scripted", "gen_ai.response.model=scripted",
		"gen_ai.usage.input_tokens=1", "gen_ai.usage.output_tokens=1", "gen_ai.conversation.id=" + session.ID, "gen_ai.response.finish_reasons=[stop]",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("no %s in %v", want, said)
		}
	}
	if strings.Contains(strings.Join(said, " "), "secret") {
		t.Errorf("a span has what was said: %v", said)
	}
}
