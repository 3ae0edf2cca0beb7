package ussd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// askedForPIN is a store with one session, in front of its PIN.
type askedForPIN struct {
	Store

	session *Session
	account Account
	claims  []Claim
	took    []time.Time // when each claim was made
}

func (s *askedForPIN) Session(context.Context, string) (*Session, error) { return s.session, nil }
func (s *askedForPIN) Account(context.Context, string) (Account, error)  { return s.account, nil }
func (s *askedForPIN) Link(context.Context, string) (string, error)      { return "", nil }
func (s *askedForPIN) Waiting(context.Context, string) (ussdquestion.Question, error) {
	return ussdquestion.Question{}, ErrNoSession
}
func (s *askedForPIN) Phone(context.Context, string) (PhoneInfo, error) { return PhoneInfo{}, nil }
func (s *askedForPIN) Commit(context.Context, Change) error             { return nil }
func (s *askedForPIN) Claim(_ context.Context, c Claim) (ussdpin.Attempt, error) {
	s.claims, s.took = append(s.claims, c), append(s.took, time.Now())
	return ussdpin.Attempt{}, nil
}

// inFrontOfPIN returns a service of one slot for slow hashes, and the request
// that gives the right PIN.
func inFrontOfPIN(t *testing.T) (*Service, *askedForPIN, Request) {
	t.Helper()
	keys, err := ussdpin.NewKeys(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	const phone, account, pin = "+254700000001", "C00000001", "70382"
	store := &askedForPIN{account: Account{ID: account, Phone: phone, Name: "Ann", Language: "en"}}
	svc, err := New(store, Config{Keys: keys, PINCost: ussdpin.Cost{Time: 1, MemoryKiB: 8}, PINSlots: 1})
	if err != nil {
		t.Fatal(err)
	}
	if store.account.PIN, err = svc.vault.Seal(t.Context(), account, pin); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	store.session = &Session{
		ID: "s1", Rev: 1, Hop: 3, Phone: phone, ServiceCode: "*2233#", Menu: svc.Menu().Version(),
		TextMAC: keys.Digest("text", "s1", ""), Created: now, Updated: now, Expires: now.Add(3 * time.Minute),
		State:  ussdmenu.State{Screen: "loginPin", Lang: "en", Vars: map[string]string{"account": account}},
		Memory: Memory{Trail: []Crumb{{Screen: "loginPin"}}},
	}
	return svc, store, Request{SessionID: "s1", ServiceCode: "*2233#", Phone: phone, Text: pin}
}

// TestAPINThatNobodyLookedAtIsNotCounted is a login on a node that is too busy
// to check it: a right PIN must not lock its owner out.
func TestAPINThatNobodyLookedAtIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		svc, store, req := inFrontOfPIN(t)
		done, err := svc.vault.Turn(t.Context()) // a crowd logs in
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), svc.Deadline())
			if a, err := svc.Handle(ctx, req); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("answer %q, error %v", a, err)
			}
			cancel()
		}
		if n := len(store.claims); n != 0 {
			t.Errorf("%d attempts were counted, and none was checked", n)
		}
		done()
		if a, err := svc.Handle(t.Context(), req); err != nil || !strings.Contains(a.Text, "Welcome Ann") {
			t.Errorf("later: %q %v", a, err)
		}
	})
}

// TestAClaimBeginsWithTheWork does not run out while the hop waits for its turn:
// a delivery at another node would count the same PIN again.
func TestAClaimBeginsWithTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		svc, store, req := inFrontOfPIN(t)
		done, err := svc.vault.Turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, done)
		if a, err := svc.Handle(t.Context(), req); err != nil || !strings.Contains(a.Text, "Welcome Ann") {
			t.Fatalf("answer %q, error %v", a, err)
		}
		if len(store.claims) != 1 {
			t.Fatalf("%d claims", len(store.claims))
		}
		if c := store.claims[0]; c.For != claimTime || !c.Now.Equal(store.took[0]) {
			t.Errorf("the claim of %v holds for %v, made at %v", c.Now, c.For, store.took[0])
		}
		if checked := time.Since(store.took[0]); checked != 0 {
			t.Errorf("the PIN was checked %s after it was counted", checked)
		}
	})
}
