package ussdtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// NewSession returns a session that could be stored.
func NewSession(id string) *ussd.Session {
	return &ussd.Session{
		ID: id, Rev: 7, Hop: 1, Phone: "+260971230001", ServiceCode: "*2233#", Dialect: "nalo", Menu: "m1",
		TextLen: 3, TextMAC: []byte{1, 2, 0, 255}, Answer: "Habari \"ya\" asubuhi\n1. Ndiyo 😀",
		Created: noon, Updated: noon, Expires: noon.Add(3 * time.Minute),
		State: ussdmenu.State{Screen: "home", Page: 2, Lang: "sw", Vars: map[string]string{"name": "O'Brien"}, Notice: "n"},
		Memory: ussd.Memory{
			Digests: map[string][]byte{"pin": {9}}, PhoneAccount: "C1", Facts: ussdmenu.HasAccount,
			Trail: []ussd.Crumb{{At: 1, Screen: "home", Input: "****"}},
		},
	}
}

// TestStore is the contract of a Store. open returns a new, empty one.
func TestStore(t *testing.T, open func(t *testing.T) ussd.Store) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, s ussd.Store)
	}{
		{"a session comes back as it was", sessionRoundTrip},
		{"a commit compares", commitCompares},
		{"one of many commits wins", oneCommitWins},
		{"a claim holds until it runs out", claimHolds},
		{"a hop is all or nothing", hopIsAtomic},
		{"wrong PINs lock and are forgotten", wrongPINsLock},
		{"a right PIN is no failure", rightPINs},
		{"checks have places", checksHavePlaces},
		{"a check that lapsed is not answered", lapsedChecks},
		{"an answer knows the count", answersCount},
		{"guesses follow the model", guessesFollowTheModel},
		{"failures of a telephone are taken back by account", failuresByAccount},
		{"a lock is not taken back", locksStay},
		{"accounts belong to telephones", accountsOfPhones},
		{"a PIN change ends the account's other sessions", endSessions},
		{"questions are taken once", questionsTaken},
		{"expired sessions are swept once", sweepsOnce},
		{"what was used is swept later", sweepFollowsUse},
		{"counts add up", countsAddUp},
		{"menus are kept by version", menusKept},
		{"the last session of a telephone", lastOfPhone},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, open(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error = %v, want %v", got, want)
	}
}

func commit(t *testing.T, s ussd.Store, n *ussd.Session, prior *ussd.Prior, effects ...ussd.Effect) error {
	t.Helper()
	return s.Commit(t.Context(), ussd.Change{Session: n, Prior: prior, Resumable: true, Effects: effects, Now: noon})
}

func sessionRoundTrip(t *testing.T, s ussd.Store) {
	_, err := s.Session(t.Context(), "s1")
	wantErr(t, err, ussd.ErrNoSession)
	for _, id := range []string{"s1", "S1", "ß/*?", "nalo\x1fs1"} {
		want := NewSession(id)
		must(t, commit(t, s, want, nil))
		got, err := s.Session(t.Context(), id)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", id, diff)
		}
	}
}

func commitCompares(t *testing.T, s ussd.Store) {
	n := NewSession("s1")
	must(t, commit(t, s, n, nil))
	wantErr(t, commit(t, s, n, nil), ussd.ErrStale)
	next := NewSession("s1")
	next.Hop, next.Answer = 2, "two"
	wantErr(t, commit(t, s, next, &ussd.Prior{Rev: 7, Hop: 2}), ussd.ErrStale)
	wantErr(t, commit(t, s, next, &ussd.Prior{Rev: 8, Hop: 1}), ussd.ErrStale)
	must(t, commit(t, s, next, &ussd.Prior{Rev: 7, Hop: 1}))
	wantErr(t, commit(t, s, next, &ussd.Prior{Rev: 7, Hop: 1}), ussd.ErrStale)
	// A new session in the place of an old one.
	fresh := NewSession("s1")
	fresh.Rev, fresh.Hop, fresh.Phone, fresh.Created = 9, 3, "+254700000002", noon.Add(time.Hour)
	must(t, commit(t, s, fresh, &ussd.Prior{Rev: 7, Hop: 2}))
	got, err := s.Session(t.Context(), "s1")
	must(t, err)
	if diff := cmp.Diff(fresh, got); diff != "" {
		t.Error(diff)
	}
	wantErr(t, commit(t, s, NewSession("never"), &ussd.Prior{Rev: 7, Hop: 1}), ussd.ErrStale)
}

func oneCommitWins(t *testing.T, s ussd.Store) {
	must(t, commit(t, s, NewSession("s1"), nil))
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			n := NewSession("s1")
			n.Hop, n.Answer = 2, fmt.Sprint(i)
			errs[i] = commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 1})
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		if err == nil {
			if won >= 0 {
				t.Errorf("%d and %d both won", won, i)
			}
			won = i
		} else {
			wantErr(t, err, ussd.ErrStale)
		}
	}
	got, err := s.Session(t.Context(), "s1")
	must(t, err)
	if got.Answer != fmt.Sprint(won) {
		t.Errorf("stored %q, won %d", got.Answer, won)
	}
}

func claimHolds(t *testing.T, s ussd.Store) {
	must(t, commit(t, s, NewSession("s1"), nil))
	claim := ussd.Claim{ID: "s1", Prior: ussd.Prior{Rev: 7, Hop: 1}, Now: noon, For: time.Hour}
	left := func() time.Duration {
		t.Helper()
		got, err := s.Session(t.Context(), "s1")
		must(t, err)
		return got.Claimed
	}
	if got := left(); got > 0 {
		t.Errorf("claimed for %v by nobody", got)
	}
	over := claim
	over.For = -time.Second // by a node that is dead since
	for range 2 {
		_, err := s.Claim(t.Context(), over)
		must(t, err)
		if got := left(); got > 0 {
			t.Errorf("claimed for %v after its end", got)
		}
	}
	_, err := s.Claim(t.Context(), claim)
	must(t, err)
	if got := left(); got <= 0 || got > claim.For {
		t.Errorf("claimed for %v", got)
	}
	// The store's clock counts: not that of a node which is hours ahead or behind.
	for _, wrong := range []time.Duration{0, 5 * time.Hour, -5 * time.Hour} {
		claim.Now = noon.Add(wrong)
		_, err = s.Claim(t.Context(), claim)
		wantErr(t, err, ussd.ErrStale)
	}
	n := NewSession("s1")
	n.Hop = 2
	must(t, commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 1}))
	if got := left(); got > 0 {
		t.Errorf("the commit left the claim: %v", got)
	}
	_, err = s.Claim(t.Context(), claim)
	wantErr(t, err, ussd.ErrStale)
}

func account(id, phone string) ussd.Account {
	return ussd.Account{
		ID: id, Phone: phone, Name: "Ann", Email: "a@b.org", Language: "sw", PIN: []byte{0, 1, 255},
		Created: noon, Updated: noon,
	}
}

func hopIsAtomic(t *testing.T, s ussd.Store) {
	must(t, commit(t, s, NewSession("s1"), nil, ussd.CreateAccount{Account: account("C1", "+1222"), Limit: 5}))
	n := NewSession("s1")
	n.Hop, n.Answer = 2, "two"
	err := commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 1}, ussd.SetLanguage{Account: "C1", Phone: "+1222", Language: "en"},
		ussd.CreateAccount{Account: account("C1", "+1333"), Limit: 5})
	wantErr(t, err, ussd.ErrTaken)
	got, err := s.Session(t.Context(), "s1")
	must(t, err)
	a, err := s.Account(t.Context(), "C1")
	must(t, err)
	if got.Hop != 1 || a.Language != "sw" {
		t.Errorf("half a hop was stored: hop %d, language %s", got.Hop, a.Language)
	}
	// A stale hop has no effects.
	err = commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 5}, ussd.SetLanguage{Account: "C1", Phone: "+1222", Language: "en"})
	wantErr(t, err, ussd.ErrStale)
	if a, err = s.Account(t.Context(), "C1"); err != nil || a.Language != "sw" {
		t.Errorf("a stale hop had an effect: %+v %v", a, err)
	}
}

func accountsOfPhones(t *testing.T, s ussd.Store) {
	info, err := s.Phone(t.Context(), "+1222")
	if err != nil || info != (ussd.PhoneInfo{}) {
		t.Errorf("unknown telephone: %+v %v", info, err)
	}
	_, err = s.Account(t.Context(), "C1")
	wantErr(t, err, ussd.ErrNoAccount)
	must(t, commit(t, s, NewSession("s1"), nil, ussd.CreateAccount{Account: account("C1", "+1222"), Limit: 2}))
	a, err := s.Account(t.Context(), "C1")
	must(t, err)
	if diff := cmp.Diff(account("C1", "+1222"), a); diff != "" {
		t.Error(diff)
	}
	if info, err = s.Phone(t.Context(), "+1222"); err != nil ||
		info != (ussd.PhoneInfo{Language: "sw", Accounts: 1, Account: "C1"}) {
		t.Errorf("one account: %+v %v", info, err)
	}
	must(t, commit(t, s, NewSession("s2"), nil, ussd.CreateAccount{Account: account("C2", "+1222"), Limit: 2}))
	if info, err = s.Phone(t.Context(), "+1222"); err != nil || info != (ussd.PhoneInfo{Language: "sw", Accounts: 2}) {
		t.Errorf("two accounts: %+v %v", info, err)
	}
	wantErr(t, commit(t, s, NewSession("s3"), nil, ussd.CreateAccount{Account: account("C3", "+1222"), Limit: 2}),
		ussd.ErrTooMany)
	var phones []string
	newest, err := s.KnownPhones(t.Context(), time.Time{}, func(p string) { phones = append(phones, p) })
	if err != nil || len(phones) != 1 || phones[0] != "+1222" {
		t.Errorf("known telephones: %v %v %v", phones, newest, err)
	}
	// A node that is late by an hour changes one: those who look for what is new
	// since then must find it, so that it is the store's clock that counts.
	late := NewSession("s4")
	late.Updated = noon.Add(-time.Hour)
	must(t, s.Commit(t.Context(), ussd.Change{
		Session: late, Now: noon.Add(-time.Hour),
		Effects: []ussd.Effect{ussd.SetLanguage{Phone: "+1333", Language: "sw"}},
	}))
	phones = nil
	again, err := s.KnownPhones(t.Context(), newest, func(p string) { phones = append(phones, p) })
	if err != nil || !slices.Contains(phones, "+1333") || again.Before(newest) {
		t.Errorf("since %v: %v %v %v", newest, phones, again, err)
	}
	phones = nil
	if _, err := s.KnownPhones(t.Context(), again.Add(time.Millisecond), func(p string) {
		phones = append(phones, p)
	}); err != nil || len(phones) != 0 {
		t.Errorf("nothing is new: %v %v", phones, err)
	}
	list, err := s.SealedPINs(t.Context(), "C1", 10)
	if err != nil || len(list) != 1 || list[0].ID != "C2" {
		t.Errorf("accounts after C1: %+v %v", list, err)
	}
	must(t, s.ReplacePIN(t.Context(), "C1", []byte("other"), []byte("new"))) // not what is there: nothing happens
	must(t, s.ReplacePIN(t.Context(), "C2", []byte{0, 1, 255}, []byte("new")))
	for id, want := range map[string]string{"C1": "\x00\x01\xff", "C2": "new"} {
		if a, err = s.Account(t.Context(), id); err != nil || string(a.PIN) != want {
			t.Errorf("%s: %q %v", id, a.PIN, err)
		}
	}
}

func endSessions(t *testing.T, s ussd.Store) {
	for id, owner := range map[string]string{"mine": "C1", "other": "C1", "foreign": "C2", "nobody": ""} {
		n := NewSession(id)
		n.Account = owner
		must(t, commit(t, s, n, nil))
	}
	n := NewSession("mine")
	n.Account, n.Hop = "C1", 2
	must(t, commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 1}, ussd.EndSessions{Account: "C1", Except: "mine"}))
	for id, want := range map[string]ussd.Status{
		"mine": ussd.Active, "other": ussd.Done, "foreign": ussd.Active,
		"nobody": ussd.Active,
	} {
		got, err := s.Session(t.Context(), id)
		if err != nil || got.Status != want {
			t.Errorf("%s: %v %v", id, got.Status, err)
		}
	}
	n = NewSession("other")
	n.Hop = 2
	wantErr(t, commit(t, s, n, &ussd.Prior{Rev: 7, Hop: 1}), ussd.ErrStale)
}

func questionsTaken(t *testing.T, s ussd.Store) {
	_, err := s.Waiting(t.Context(), "C1")
	wantErr(t, err, ussd.ErrNoSession)
	q := ussdquestion.Question{ID: "q1", Account: "C1", Phone: "+1222", Language: "sw", Text: "Why?", Created: noon}
	must(t, commit(t, s, NewSession("s1"), nil, ussd.KeepQuestion{Question: q}))
	got, err := s.Waiting(t.Context(), "C1")
	must(t, err)
	if diff := cmp.Diff(q, got); diff != "" {
		t.Error(diff)
	}
	// By a node that is dead since.
	if taken, err := s.TakeQuestions(t.Context(), -time.Second, 5); err != nil || len(taken) != 1 {
		t.Errorf("%+v %v", taken, err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range 6 {
		wg.Go(func() {
			taken, err := s.TakeQuestions(t.Context(), time.Hour, 5)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			total += len(taken)
			mu.Unlock()
			if len(taken) == 1 && taken[0].Tries != 2 {
				t.Errorf("taken for the %d. time", taken[0].Tries)
			}
		})
	}
	wg.Wait()
	if total != 1 {
		t.Errorf("taken %d times", total)
	}
	must(t, s.SettleQuestion(t.Context(), "q1", "Because.", ussdquestion.Answered, noon))
	must(t, s.SettleQuestion(t.Context(), "q1", "Too late.", ussdquestion.Answered, noon))
	if got, err = s.Waiting(t.Context(), "C1"); err != nil || got.Answer != "Because." || got.State != ussdquestion.Answered {
		t.Errorf("%+v %v", got, err)
	}
	must(t, commit(t, s, NewSession("s2"), nil, ussd.MarkRead{Question: "q1"}))
	_, err = s.Waiting(t.Context(), "C1")
	wantErr(t, err, ussd.ErrNoSession)
}

func sweepsOnce(t *testing.T, s ussd.Store) {
	for i := range 30 {
		n := NewSession(fmt.Sprint("old", i))
		n.Expires = noon.Add(time.Duration(i) * time.Second)
		if i%3 == 0 {
			n.Status = ussd.Done
		}
		must(t, commit(t, s, n, nil))
	}
	must(t, commit(t, s, NewSession("live"), nil))
	at := noon.Add(time.Minute)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []ussd.Swept
	for range 4 {
		wg.Go(func() {
			for {
				swept, err := s.Sweep(t.Context(), at, at, 7)
				if err != nil {
					t.Error(err)
				}
				if len(swept) == 0 {
					return
				}
				mu.Lock()
				all = append(all, swept...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(all) != 30 {
		t.Errorf("swept %d", len(all))
	}
	ids, total, err := s.Active(t.Context(), at, 10)
	if err != nil || total != 1 || !cmp.Equal(ids, []string{"live"}) {
		t.Errorf("left: %v %d %v", ids, total, err)
	}
	if kept, err := s.Sweep(t.Context(), noon.Add(time.Hour), noon, 7); err != nil || len(kept) != 0 {
		t.Errorf("an active session inside the resume window was swept: %v %v", kept, err)
	}
	if recent, err := s.Recent(t.Context(), at, 5); err != nil || len(recent) != 1 {
		t.Errorf("recent: %v %v", recent, err)
	}
}

// sweepFollowsUse has sessions that were used after the sweep first looked, or ended while
// they could still have been offered again.
func sweepFollowsUse(t *testing.T, s ussd.Store) {
	hop := func(n *ussd.Session, used time.Duration) {
		t.Helper()
		prior := ussd.Prior{Rev: n.Rev, Hop: n.Hop}
		n.Hop, n.Updated, n.Expires = n.Hop+1, noon.Add(used), noon.Add(used+time.Minute)
		must(t, commit(t, s, n, &prior))
	}
	swept := func(at time.Duration, want int) {
		t.Helper()
		got, err := s.Sweep(t.Context(), noon.Add(at), noon.Add(at-time.Hour), 2)
		if err != nil || len(got) != want {
			t.Errorf("after %v: swept %v, %v, want %d", at, got, err, want)
		}
	}
	used, ended := NewSession("used"), NewSession("ended")
	for _, n := range []*ussd.Session{used, ended, NewSession("left1"), NewSession("left2"), NewSession("left3")} {
		n.Expires = noon.Add(time.Minute)
		must(t, commit(t, s, n, nil))
	}
	hop(used, 50*time.Second)
	swept(70*time.Second, 0)
	ended.Status = ussd.Done
	hop(ended, 75*time.Second)
	swept(100*time.Second, 0)
	swept(140*time.Second, 1)
	swept(59*time.Minute, 0)
	swept(62*time.Minute, 2)
	swept(62*time.Minute, 2)
	swept(62*time.Minute, 0)
}

func countsAddUp(t *testing.T, s ussd.Store) {
	c := ussdcount.Count{Menu: "m1", Kind: ussdcount.CountMove, From: "a", To: "b"}
	for _, day := range []string{"2026-11-14", "2026-11-15", "2026-11-15"} {
		must(t, s.AddCounts(t.Context(), day, map[ussdcount.Count]int64{c: 2}))
	}
	for from, want := range map[string]int64{"2026-11-14": 6, "2026-11-15": 4, "2026-11-16": 0} {
		got, err := s.Counts(t.Context(), from)
		if err != nil || got[c] != want {
			t.Errorf("from %s: %v %v", from, got, err)
		}
	}
	must(t, s.AddCounts(t.Context(), "2026-11-13", map[ussdcount.Count]int64{c: 1}))
	for _, left := range []bool{true, true, false} { // two rows, one at a time
		if more, err := s.Prune(t.Context(), noon, 1); err != nil || more != left {
			t.Errorf("more %v, want %v, %v", more, left, err)
		}
	}
	if got, err := s.Counts(t.Context(), "2026-01-01"); err != nil || got[c] != 4 {
		t.Errorf("after pruning: %v %v", got, err)
	}
}

func menusKept(t *testing.T, s ussd.Store) {
	_, err := s.Menu(t.Context(), "v1")
	wantErr(t, err, ussd.ErrNoMenu)
	for range 2 {
		must(t, s.SaveMenu(t.Context(), "v1", []byte("name: x\n"), noon))
	}
	if got, err := s.Menu(t.Context(), "v1"); err != nil || string(got) != "name: x\n" {
		t.Errorf("%q %v", got, err)
	}
}

func lastOfPhone(t *testing.T, s ussd.Store) {
	for i, status := range []ussd.Status{ussd.Active, ussd.Active, ussd.Done} {
		n := NewSession(fmt.Sprint("s", i))
		n.Status, n.Updated = status, noon.Add(time.Duration(i)*time.Minute)
		must(t, commit(t, s, n, nil))
	}
	got, err := s.LastOfPhone(t.Context(), "+260971230001", "*2233#", noon)
	if err != nil || got.ID != "s1" {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range [][2]string{{"+260971230001", "*1#"}, {"+1222", "*2233#"}} {
		_, err = s.LastOfPhone(t.Context(), bad[0], bad[1], noon)
		wantErr(t, err, ussd.ErrNoSession)
	}
	_, err = s.LastOfPhone(t.Context(), "+260971230001", "*2233#", noon.Add(2*time.Minute))
	wantErr(t, err, ussd.ErrNoSession)

	unoffered := NewSession("s3")
	unoffered.Phone = "+260971230003"
	must(t, s.Commit(t.Context(), ussd.Change{Session: unoffered, Now: noon}))
	_, err = s.LastOfPhone(t.Context(), unoffered.Phone, "*2233#", noon)
	wantErr(t, err, ussd.ErrNoSession)
}
