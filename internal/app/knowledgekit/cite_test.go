package knowledgekit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	knowledgeplugin "github.com/castalia-org/castalia/internal/plugins/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// An answer's numbers lead to passages: on the stream, and in the transcript, the
// same; and two looks of one turn do not share numbers.
func TestAnswersAreCited(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	c := w.MustCreate(t, "owner", "Village", "/village", knowledge.Everybody)
	mill := w.Files.Put("owner", "/village/mill.txt", "# Mill\nThe mill grinds maize on Fridays.\fThe miller is Juma.")
	w.Files.Put("owner", "/village/clinic.txt", "# Clinic\nThe clinic opens at eight.")
	w.Settle(t)
	kit := &knowledgekit.Kit{Service: w.Service, CallerOf: readers(w)}
	model := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		search := func(id, query string) plugin.ModelToolCall {
			return plugin.ModelToolCall{ID: id, Name: "knowledge_search", Args: json.RawMessage(fmt.Sprintf(`{"query":%q,"limit":2}`, query))}
		}
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Purpose != "turn":
			return scripted.Text("title")
		case last.Role == plugin.RoleUser:
			return scripted.Calls(search("c1", "when does the mill grind maize"))
		case last.ToolCallID == "c1":
			return scripted.Calls(search("c2", "when does the clinic open"))
		}
		return scripted.Text("On Fridays [1]; the clinic at eight [2]. Nothing is at [77].")
	})
	n := oracletest.Start(t, model, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{knowledgeplugin.New()}
		d.Access = oraclekit.Access{KnowledgeFor: kit.For}
	})
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	var live oracle.CitationsPayload
	for _, f := range alice.Say(session, "when?") {
		if f.Event == oracle.FrameCitations {
			if err := json.Unmarshal(f.Data, &live); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(live.Citations) != 2 || live.SessionID != session {
		t.Fatalf("the stream: %+v", live)
	}
	want := plugin.Citation{
		Number: 1, Collection: c.ID, CollectionName: "Village", Document: mill, Passage: c.ID + "/" + mill + "/0",
		Title: "Mill", Name: "mill.txt", Page: 1,
		Headings: []string{"Mill"}, Text: live.Citations[0].Text,
	}
	if diff := cmp.Diff(want, live.Citations[0]); diff != "" {
		t.Error(diff)
	}
	if live.Citations[1].Title != "Clinic" || live.Citations[1].Number != 2 {
		t.Errorf("the second: %+v", live.Citations[1])
	}
	var stored struct {
		Messages []struct {
			Content   string
			Citations []plugin.Citation
		}
	}
	got := alice.Do(http.MethodGet, "/messages/"+session, nil)
	got.JSON(t, &stored)
	last := stored.Messages[len(stored.Messages)-1]
	if diff := cmp.Diff(live.Citations, last.Citations); diff != "" {
		t.Errorf("after a reload: %s", diff)
	}
}

// Numbers of a turn are taken once, also by looks at the same time and after
// another node began it.
func TestNumbersAreTakenOnce(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	w.MustCreate(t, "owner", "Village", "/village", knowledge.Everybody)
	w.Files.Put("owner", "/village/mill.txt", "# Mill\nThe mill grinds maize on Fridays.")
	w.Settle(t)
	user := (&knowledgekit.Kit{Service: w.Service, CallerOf: readers(w)}).For(identitytest.Alice.DID, identity.Brought{})
	user.(interface{ CiteAfter(n int) }).CiteAfter(7)
	var mu sync.Mutex
	seen := map[int]int{}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			got, err := user.Call(t.Context(), "knowledge_search", json.RawMessage(`{"query":"when does the mill grind maize"}`))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || len(got.Citations) != 1 {
				t.Errorf("%+v, %v", got, err)
				return
			}
			seen[got.Citations[0].Number]++
		})
	}
	all.Wait()
	for n := 8; n < 18; n++ {
		if seen[n] != 1 {
			t.Errorf("%d is taken %d times", n, seen[n])
		}
	}
}

// readers are who they are, and hold nothing.
func readers(w *knowledgetest.World) func(context.Context, identity.Principal) (knowledge.Caller, error) {
	return func(ctx context.Context, p identity.Principal) (knowledge.Caller, error) {
		return w.CallerOf(ctx, p.DID)
	}
}
