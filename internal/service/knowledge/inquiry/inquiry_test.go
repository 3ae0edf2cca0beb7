package inquiry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

var (
	alice = identitytest.Alice.DID
	bob   = identitytest.Bob.DID
	carol = identitytest.Carol.DID
	home  = identity.NamespaceOf(alice)
)

const unanswered = "Which vaccine does a newborn goat need?"

type place struct {
	*knowledgetest.World
	*inquiry.Service
	clinic knowledge.Collection
}

func each(t *testing.T, body func(t *testing.T, p place)) {
	t.Helper()
	knowledgetest.Each(t, func(t *testing.T, w *knowledgetest.World) {
		w.Files.Put(home, "/clinic/hours.txt", "# Clinic hours\nThe dispensary opens at eight.")
		c := w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Everybody)
		w.Settle(t)
		body(t, place{w, inquiries(w), c})
	})
}

func inquiries(w *knowledgetest.World) *inquiry.Service {
	return inquiry.New(inquiry.Deps{Knowledge: w.Service, Store: w.Records, Now: w.Clock.Now})
}

func from(did string) inquiry.Asker { return inquiry.Asker{Channel: inquiry.Web, ID: did} }

func staff() inquiry.Scope { return inquiry.Scope{Reach: knowledge.Whole(home)} }

func (p place) must(t *testing.T, who string, a inquiry.Asking) inquiry.Inquiry {
	t.Helper()
	if a.Asker.ID == "" {
		a.Asker = from(who)
	}
	q, err := p.Ask(t.Context(), knowledge.Caller{DID: who}, a)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (p place) waiting(t *testing.T, s inquiry.Scope) []inquiry.Inquiry {
	t.Helper()
	all, err := p.List(t.Context(), s, inquiry.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A question to people is reported to whose collection it is, and what became of it is: its
// words and its asker are not. Whoever repeats a question is not reported again, and what
// was settled is not when it is removed.
func TestQuestionsAreReported(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		var got knowledgetest.Outbox
		p.Records = p.Records.WithOutbox(&got)
		s := inquiries(p.World)
		p.Service = s
		answered := p.must(t, bob, inquiry.Asking{Text: unanswered})
		p.must(t, bob, inquiry.Asking{ID: answered.ID, Text: unanswered})
		dismissed := p.must(t, carol, inquiry.Asking{Text: "Who mends the bridge?"})
		waiting := p.must(t, carol, inquiry.Asking{Text: "Who mends the mill?"})
		if _, err := s.Answer(t.Context(), staff(), answered.ID, inquiry.Answering{Text: "None.", By: alice}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Dismiss(t.Context(), staff(), dismissed.ID, alice); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Dismiss(t.Context(), staff(), dismissed.ID, alice); !fault.Is(err, fault.Conflict) {
			t.Errorf("dismissed twice: %v", err)
		}
		for _, id := range []string{dismissed.ID, waiting.ID} {
			if err := s.Remove(t.Context(), staff(), id, alice); err != nil {
				t.Fatal(err)
			}
		}
		event := func(kind, id, rest string) string {
			return fmt.Sprintf(`%s knowledge.%s {"collectionId":%q,"inquiryId":%q%s}`, home, kind, p.clinic.ID, id, rest)
		}
		want := []string{
			event("asked", answered.ID, ""), event("asked", dismissed.ID, ""), event("asked", waiting.ID, ""),
			event("settled", answered.ID, `,"status":"answered"`), event("settled", dismissed.ID, `,"status":"dismissed"`),
			event("settled", waiting.ID, `,"status":"removed"`), // and of those that were settled nothing
		}
		if !slices.Equal(got, want) {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// The staff of a collection sees what was asked, and who asked only if they agreed.
func TestStaffSeesQuestionsAndNotAskers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		p.must(t, bob, inquiry.Asking{Text: "  " + unanswered + " ", Language: "en"})
		shown := from(carol)
		shown.Shown, shown.Name = true, "Carol of the mill"
		p.Clock.Add(time.Second)
		p.must(t, carol, inquiry.Asking{Text: "Who mends the mill?", Asker: shown})
		hidden := from(carol)
		hidden.Name = "Carol of the mill"
		p.Clock.Add(time.Second)
		p.must(t, carol, inquiry.Asking{Text: "Who mends the bridge?", Asker: hidden})
		all := p.waiting(t, staff())
		if len(all) != 3 || all[0].Text != unanswered || all[0].From != "" || all[0].Collection.Name != "Clinic" ||
			all[0].Channel != inquiry.Web {
			t.Fatalf("%+v", all)
		}
		if all[1].From != "Carol of the mill" || all[2].From != "" {
			t.Errorf("from %q and %q", all[1].From, all[2].From)
		}
		for _, q := range all {
			if said := fmt.Sprintf("%+v", q); strings.Contains(said, bob) || strings.Contains(said, carol) {
				t.Errorf("staff sees who asked: %s", said)
			}
		}
		// Others see nothing, and operators all.
		for name, s := range map[string]inquiry.Scope{
			"nobody":            {},
			"another namespace": {Reach: knowledge.Whole(identity.NamespaceOf(bob))},
		} {
			if got := p.waiting(t, s); len(got) != 0 {
				t.Errorf("%s sees %d", name, len(got))
			}
			if _, err := p.Answer(t.Context(), s, all[0].ID, inquiry.Answering{Text: "x"}); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s answers: %v", name, err)
			}
			if _, err := p.Dismiss(t.Context(), s, all[0].ID, "x"); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s dismisses: %v", name, err)
			}
			if err := p.Remove(t.Context(), s, all[0].ID, "x"); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s removes: %v", name, err)
			}
		}
		if got := p.waiting(t, inquiry.Scope{All: true}); len(got) != 3 {
			t.Errorf("operators see %d", len(got))
		}
		if _, err := p.Answer(t.Context(), staff(), strings.ToUpper(all[0].ID), inquiry.Answering{Text: "x"}); !fault.Is(err,
			fault.NotFound) && strings.ToUpper(all[0].ID) != all[0].ID {
			t.Errorf("another spelling of an id: %v", err)
		}
		// Pages go on where they ended.
		var texts []string
		for after := ""; ; {
			page, err := p.List(t.Context(), staff(), inquiry.Page{Limit: 1, After: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			texts = append(texts, page[0].Text)
			after = page[0].ID
		}
		if len(texts) != 3 || texts[2] != "Who mends the bridge?" {
			t.Errorf("pages %q", texts)
		}
		mine, err := p.Mine(t.Context(), from(carol))
		if err != nil || len(mine) != 2 || mine[0].Text != "Who mends the bridge?" {
			t.Errorf("carol's own: %+v, %v", mine, err)
		}
	})
}

// What somebody asks by a telephone that is linked is theirs on the web too, with what
// they may have waiting, and its answer knows whose it is.
func TestALinkedTelephoneAsksAsThePerson(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		byPhone := inquiry.Asker{Channel: inquiry.Telephone, ID: "C00000001", Person: bob}
		q := p.must(t, bob, inquiry.Asking{Text: unanswered, Asker: byPhone})
		p.Clock.Add(time.Second)
		p.must(t, "", inquiry.Asking{Text: "Who mends the mill?", Asker: inquiry.Asker{Channel: inquiry.Telephone, ID: "C00000001"}})
		mine, err := p.Mine(t.Context(), from(bob))
		if err != nil || len(mine) != 1 || mine[0].Text != unanswered || mine[0].Channel != inquiry.Telephone {
			t.Errorf("bob's own: %+v, %v", mine, err)
		}
		for _, seen := range p.waiting(t, staff()) {
			if said := fmt.Sprintf("%+v", seen); strings.Contains(said, bob) {
				t.Errorf("staff sees who asked: %s", said)
			}
		}
		for range inquiry.MaxWaiting - 1 {
			p.must(t, bob, inquiry.Asking{Text: "And?"})
		}
		if _, err := p.Ask(t.Context(), knowledge.Caller{DID: bob},
			inquiry.Asking{Text: "And?", Asker: byPhone}); !fault.Is(err, fault.Conflict) {
			t.Errorf("one too many: %v", err)
		}
		if _, err := p.Answer(t.Context(), staff(), q.ID, inquiry.Answering{Text: "None.", By: alice}); err != nil {
			t.Fatal(err)
		}
		got := make(chan inquiry.Reply, 1)
		p.Reach(inquiry.Telephone, func(_ context.Context, r inquiry.Reply) error { got <- r; return nil })
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() {
			if err := p.RunReplies(ctx); err != nil {
				t.Error(err)
			}
		})
		r := <-got
		stop()
		working.Wait()
		if r.Asker.Person != bob || r.Asker.ID != "C00000001" || r.Answer != "None." {
			t.Errorf("the reply: %+v", r)
		}
	})
}

// Nothing of a question is in clear in the database.
func TestQuestionsAreSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		p.must(t, bob, inquiry.Asking{Text: unanswered})
		rows, err := p.Records.Inquiries(t.Context(), inquiry.Scope{All: true}, inquiry.Page{Limit: 10})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d, %v", len(rows), err)
		}
		for _, secret := range []string{"vaccine", bob} {
			if strings.Contains(string(rows[0].Sealed)+rows[0].Asker+rows[0].ID, secret) {
				t.Errorf("%q is in clear", secret)
			}
		}
	})
}

// An answer reaches its asker once somebody gave it, also when delivery fails at
// first, and a kept one wins from then on.
func TestAnswersArriveAndWin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		q := p.must(t, bob,
			inquiry.Asking{Text: unanswered, Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Session: "s1"}})
		before, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: unanswered})
		if err != nil || before.Answered {
			t.Fatalf("%+v, %v", before, err)
		}
		const answer = "None in the first week. At six weeks the vet gives the clostridial one, at the dip on Mondays."
		done, err := p.Answer(t.Context(), staff(), q.ID, inquiry.Answering{Text: answer, Keep: true, By: alice})
		if err != nil || done.State != inquiry.Answered || !done.Kept || done.Answer != answer {
			t.Fatalf("%+v, %v", done, err)
		}
		if last := done.Events[len(done.Events)-1]; last.By != alice || last.What != "kept" || len(done.Events) != 2 ||
			done.Events[0].By != "" {
			t.Errorf("events %+v", done.Events)
		}
		for name, settle := range map[string]func() error{
			"answers":   func() error { _, err := p.Answer(t.Context(), staff(), q.ID, inquiry.Answering{Text: "x"}); return err },
			"dismisses": func() error { _, err := p.Dismiss(t.Context(), staff(), q.ID, "x"); return err },
		} {
			if err := settle(); !fault.Is(err, fault.Conflict) {
				t.Errorf("a second one %s: %v", name, err)
			}
		}
		got, tries := make(chan inquiry.Reply, 4), 0
		var mu sync.Mutex
		p.Reach(inquiry.Web, func(_ context.Context, r inquiry.Reply) error {
			mu.Lock()
			defer mu.Unlock()
			if tries++; tries == 1 {
				return errors.New("the channel is away")
			}
			got <- r
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		working.Go(func() {
			if err := p.RunReplies(ctx); err != nil {
				t.Error(err)
			}
		})
		r := <-got
		stop()
		working.Wait()
		if r.ID != q.ID || r.Asker.ID != bob || r.Asker.Session != "s1" || r.Question != unanswered || r.Answer != answer {
			t.Errorf("the reply: %+v", r)
		}
		mine, err := p.Mine(t.Context(), from(bob))
		if err != nil || len(mine) != 1 || mine[0].Answer != answer || mine[0].Events != nil {
			t.Errorf("bob's own: %+v, %v", mine, err)
		}
		for _, text := range []string{unanswered, "which vaccines do newborn goats need"} {
			a, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: text})
			if err != nil || !a.Answered || !a.Hits[0].Pair || a.Hits[0].Sentences[0] != answer ||
				a.Hits[0].CollectionName != "Clinic" {
				t.Fatalf("%s: %+v, %v", text, a, err)
			}
			around, err := p.ReadPassages(t.Context(), knowledge.Caller{}, a.Hits[0].Collection, a.Hits[0].Document, 0, 1)
			if err != nil || len(around) != 1 || around[0].Text != answer {
				t.Errorf("the pair: %+v, %v", around, err)
			}
		}
		other, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: "When does the dispensary open?"})
		if err != nil || !other.Answered || other.Hits[0].Pair {
			t.Errorf("another question: %+v, %v", other, err)
		}
		// A collection that is not for everybody does not show its pairs to them either.
		if _, err := p.Change(t.Context(), knowledgetest.OwnerOf(home), p.clinic.ID,
			knowledge.Changes{Readers: new(knowledge.Delegates)}); err != nil {
			t.Fatal(err)
		}
		if a, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: unanswered}); err != nil ||
			a.Answered || len(a.Hits) != 0 {
			t.Errorf("a stranger: %+v, %v", a, err)
		}
		if err := p.Remove(t.Context(), staff(), q.ID, alice); err != nil {
			t.Fatal(err)
		}
		if a, err := p.Search(t.Context(), knowledge.Caller{DID: alice}, knowledge.Question{Text: unanswered}); err != nil ||
			a.Answered {
			t.Errorf("after it was removed: %+v, %v", a, err)
		}
	})
}

// A pair beats a document that answers the same question with as many words.
func TestPairsWin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		for i := range 40 {
			p.Files.Put(home, fmt.Sprintf("/clinic/%d.txt", i), fmt.Sprintf("# When does the dispensary open on weekdays?\nThe dispensary opens on weekdays at %d.", i))
		}
		p.Settle(t)
		const text = "When does the dispensary open on weekdays?"
		q := p.must(t, bob, inquiry.Asking{Text: text})
		if _, err := p.Answer(t.Context(), staff(), q.ID,
			inquiry.Answering{Text: "At half past seven, since May.", Keep: true, By: alice}); err != nil {
			t.Fatal(err)
		}
		a, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: text, Limit: 3})
		if err != nil || len(a.Hits) != 3 || !a.Hits[0].Pair {
			t.Errorf("%+v, %v", a, err)
		}
		// What is asked of another time, or of a place, is another question.
		for _, text := range []string{"When does the dispensary open on Sundays?", "Who does open the dispensary on weekdays?"} {
			if a, err := p.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: text}); err != nil ||
				len(a.Hits) > 0 && a.Hits[0].Sentences[0] == "At half past seven, since May." {
				t.Errorf("%s: %+v, %v", text, a, err)
			}
		}
	})
}

// Whoever may read no collection asks nobody; a question goes to the nearest
// collection that its asker may read; and there is an end to what one may ask.
func TestWhoMayAskWhom(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		p.Files.Put(home, "/secret/goats.txt", "# Goats\nA newborn goat needs no vaccine.")
		secret := p.MustCreate(t, home, "A secret", "/secret", knowledge.Delegates)
		p.Settle(t)
		if q := p.must(t, bob, inquiry.Asking{Text: unanswered}); q.Collection.ID != p.clinic.ID {
			t.Errorf("bob's went to %+v", q.Collection)
		}
		if q := p.must(t, alice, inquiry.Asking{Text: unanswered}); q.Collection.ID != secret.ID {
			t.Errorf("alice's went to %+v", q.Collection)
		}
		if _, err := p.Ask(t.Context(), knowledge.Caller{DID: bob},
			inquiry.Asking{Text: "x", Collection: secret.ID, Asker: from(bob)}); !fault.Is(err, fault.NotFound) {
			t.Errorf("bob asks the staff of what he may not read: %v", err)
		}
		for name, a := range map[string]inquiry.Asking{
			"nothing": {Text: " ", Asker: from(bob)}, "too much": {Text: strings.Repeat("x", 1001), Asker: from(bob)},
			"nobody": {Text: "x"},
			"a long name": {
				Text:  "x",
				Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: strings.Repeat("n", 121)},
			},
			"another's DID for a name": {Text: "x", Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: alice}},
			"one in other letters":     {Text: "x", Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: "Asha (DID:key:z6Mk)"}},
			"one in wide letters":      {Text: "x", Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: "ｄｉｄ：key:z6Mk"}},
			"a name that turns round":  {Text: "x", Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: "Asha\u202e"}},
			"a name of two lines":      {Text: "x", Asker: inquiry.Asker{Channel: inquiry.Web, ID: bob, Shown: true, Name: "Asha\nOperator"}},
		} {
			if _, err := p.Ask(t.Context(), knowledge.Caller{DID: bob}, a); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{"علی\u200cرضا", "ශ්\u200dරී", "Jean\u00a0Paul", "O’Neill"} {
			named := inquiry.Asker{Channel: inquiry.Web, ID: identitytest.Mallory.DID, Shown: true, Name: name}
			p.must(t, named.ID, inquiry.Asking{Text: "And me?", Asker: named})
		}
		// Sent twice is sent once, and nobody takes another's.
		for range 2 {
			p.must(t, carol, inquiry.Asking{ID: "same", Text: "Who?"})
		}
		if mine, err := p.Mine(t.Context(), from(carol)); err != nil || len(mine) != 1 {
			t.Errorf("carol's: %d, %v", len(mine), err)
		}
		if _, err := p.Ask(t.Context(), knowledge.Caller{DID: bob},
			inquiry.Asking{ID: "same", Text: "x", Asker: from(bob)}); !fault.Is(err, fault.Conflict) {
			t.Errorf("bob asks under carol's id: %v", err)
		}
		for range inquiry.MaxWaiting - 1 {
			p.must(t, carol, inquiry.Asking{Text: "And?"})
		}
		if _, err := p.Ask(t.Context(), knowledge.Caller{DID: carol},
			inquiry.Asking{Text: "And?", Asker: from(carol)}); !fault.Is(err, fault.Conflict) {
			t.Errorf("one too many: %v", err)
		}
		p.must(t, bob, inquiry.Asking{Text: "And I?"})
		q := p.waiting(t, staff())[0]
		if d, err := p.Dismiss(t.Context(), staff(), q.ID, "operator"); err != nil || d.State != inquiry.Dismissed {
			t.Errorf("%+v, %v", d, err)
		}
		if done, err := p.List(t.Context(), staff(), inquiry.Page{State: inquiry.Dismissed}); err != nil || len(done) != 1 ||
			done[0].Events[1].By != "operator" {
			t.Errorf("dismissed: %+v, %v", done, err)
		}
		// With a collection its questions go.
		if err := p.Delete(t.Context(), knowledgetest.OwnerOf(home), p.clinic.ID); err != nil {
			t.Fatal(err)
		}
		for _, q := range p.waiting(t, inquiry.Scope{All: true}) {
			if q.Collection.ID == p.clinic.ID {
				t.Errorf("still there: %+v", q)
			}
		}
	})
}

// TestAskersFindTheirQuestionsAfterARotation drops the former key, as guides say.
func TestAskersFindTheirQuestionsAfterARotation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		waiting := p.must(t, bob, inquiry.Asking{Text: unanswered})
		p.must(t, carol, inquiry.Asking{Text: "Who shears sheep?"})
		if _, err := p.Answer(t.Context(), staff(), waiting.ID, inquiry.Answering{Text: "None.", By: alice}); err != nil {
			t.Fatal(err)
		}
		fresh := seal.NewKey()
		both := p.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) {
			cfg.OldKeys, cfg.MasterKey = []seal.Key{cfg.MasterKey}, fresh
		})
		rotating := inquiry.New(inquiry.Deps{Knowledge: both, Store: p.Records, Now: p.Clock.Now})
		for _, want := range []int{2, 0} {
			if _, err := both.RotateKeys(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, err := rotating.RotateKeys(t.Context()); err != nil || n != want {
				t.Fatalf("renamed %d: %v, want %d", n, err, want)
			}
		}
		p.World.Service = p.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) { cfg.MasterKey = fresh })
		for did, answer := range map[string]string{bob: "None.", carol: ""} {
			mine, err := inquiries(p.World).Mine(t.Context(), from(did))
			if err != nil || len(mine) != 1 || mine[0].Answer != answer {
				t.Errorf("%s: %+v, %v", did, mine, err)
			}
		}
	})
}

// TestANodeWithoutTheKeyInForceReadsOn lists what was asked, and takes nothing new (ADR 0238).
func TestANodeWithoutTheKeyInForceReadsOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p place) {
		p.must(t, bob, inquiry.Asking{Text: unanswered})
		p.World.Service = p.Node(func(_ *knowledge.Deps, cfg *knowledge.Config) {
			cfg.InForce = func(context.Context) (seal.Key, error) {
				return seal.Key{}, fault.New(fault.Unavailable, "This node has not the key in force.")
			}
		})
		forgotten := inquiries(p.World)
		mine, err := forgotten.Mine(t.Context(), from(bob))
		if err != nil || len(mine) != 1 || mine[0].Text != unanswered {
			t.Errorf("mine: %+v, %v", mine, err)
		}
		_, err = forgotten.Ask(t.Context(), knowledge.Caller{DID: bob}, inquiry.Asking{Text: "Who shears?", Asker: from(bob)})
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("asked: %v", err)
		}
	})
}
