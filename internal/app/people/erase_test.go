package people_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// holding has so much of somebody, and gives up one at a time.
type holding struct {
	left  int64
	fails error
}

func (h *holding) erase(context.Context, string) (int64, bool, error) {
	if h.left == 0 || h.fails != nil {
		return 0, false, h.fails
	}
	h.left--
	return 1, true, nil
}

func TestErasingGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		alice := identitytest.Alice.DID
		d := opened(t, open(t), alice)
		d.Quotas = membership.NewQuotas(d.Book, nil, nil, nil)
		talks, files := &holding{left: 2}, &holding{left: 3, fails: errors.New("the node died")}
		d.Holdings = []people.Holding{{Name: "conversations", Erase: talks.erase}, {Name: "files", Erase: files.erase}}
		d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
		if _, _, err := d.Book.AddMember(t.Context(), alice, "Alice"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Book.SetQuota(t.Context(), alice, membership.Allowance{Bytes: new(int64(9))}, "o"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Erase(t.Context(), alice, "o", time.Hour); err == nil {
			t.Fatal("what failed is done")
		}
		m, block, err := d.Book.Standing(t.Context(), alice)
		if err != nil || m == nil || block == nil || talks.left != 0 || files.left != 3 {
			t.Fatalf("in the middle: member %v, block %v, %d conversations, %d files: %v", m, block, talks.left, files.left, err)
		}
		files.fails = nil
		r, err := d.Erase(t.Context(), alice, "o", 0) // no longer than one look
		if err != nil || r.Done || r.Erased["files"] != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		r, err = d.Erase(t.Context(), alice, "o", time.Hour)
		if err != nil || !r.Done || r.Erased["files"] != 2 || len(r.Stays) == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		m, block, err = d.Book.Standing(t.Context(), alice)
		quota, quotaErr := d.Book.QuotaOf(t.Context(), alice)
		if err != nil || quotaErr != nil || m != nil || block == nil || quota != nil {
			t.Errorf("afterwards: member %v, block %v, quota %v: %v %v", m, block, quota, err, quotaErr)
		}
		if r, err := d.Erase(t.Context(), alice, "o", time.Hour); err != nil || !r.Done {
			t.Errorf("again: %+v, %v", r, err)
		}
	})
}

// What the archive lost before holds up no erasing, and is on the receipt.
func TestTheReceiptNamesWhatWasLost(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		alice := identitytest.Alice.DID
		d := opened(t, open(t), alice)
		d.Quotas = membership.NewQuotas(d.Book, nil, nil, nil)
		var log bytes.Buffer
		d.Log = slog.New(slog.NewTextHandler(&log, nil))
		talks := &holding{left: 2}
		d.Holdings = []people.Holding{{
			Name: "conversations", Erase: talks.erase,
			Lost: func(context.Context, string) (people.Looked, error) {
				if talks.left == 1 {
					return people.Looked{Lost: []string{"the last"}}, nil
				}
				return people.Looked{Unseen: 1}, nil
			},
		}}
		d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
		r, err := d.Erase(t.Context(), alice, "o", time.Hour)
		if err != nil || !r.Done || r.Erased["conversations"] != 2 || !slices.Equal(r.Lost, []string{"the last"}) || r.Unseen != 2 {
			t.Errorf("%+v, %v", r, err)
		}
		if n := strings.Count(log.String(), "event=people.erase_lost"); n != 1 {
			t.Errorf("%d events, want one: %s", n, &log)
		}
	})
}

// What is forgotten is given back elsewhere before, and what could not be is on the receipt.
func TestTheReceiptNamesWhatIsNotRevoked(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		alice := identitytest.Alice.DID
		d := opened(t, open(t), alice)
		d.Quotas = membership.NewQuotas(d.Book, nil, nil, nil)
		tokens := &holding{left: 1}
		d.Holdings = []people.Holding{{
			Name: "tokens", Erase: tokens.erase,
			Return: func(context.Context, string) (left []string, err error) {
				if tokens.left > 0 {
					left = append(left, "that at wiki")
				}
				return left, nil
			},
		}}
		d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
		r, err := d.Erase(t.Context(), alice, "o", time.Hour)
		if err != nil || !r.Done || r.Erased["tokens"] != 1 || !slices.Equal(r.Unrevoked, []string{"that at wiki"}) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// What the archive did not say in time is not called lost, and not called kept.
func TestWhatNobodyLookedAtIsNotLost(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		st := oraclesql.New(oracletest.Migrated(t, open(t)))
		lost, kept := oracletest.NewSession(t, st), oracletest.NewSession(t, st)
		silent, warm := oracletest.NewSession(t, st), oracletest.NewSession(t, st)
		broken := false
		keep := people.Services{
			Chats: oracle.New(oracle.Deps{Store: st}),
			Missing: func(_ context.Context, id string) (bool, error) {
				if id == silent.ID || id == warm.ID { // the look ended before it got there
					return false, context.DeadlineExceeded
				}
				return id == lost.ID, nil
			},
			Archived: func(_ context.Context, id string) (bool, error) {
				if broken {
					return false, errors.New("the database is away")
				}
				return id != warm.ID, nil
			},
		}
		for _, h := range keep.Holdings() {
			if h.Lost == nil {
				continue
			}
			saw, err := h.Lost(t.Context(), oracletest.Owner)
			if err != nil || !slices.Equal(saw.Lost, []string{lost.ID}) || saw.Unseen != 1 {
				t.Errorf("saw %+v of %s, %s: %v", saw, lost.ID, kept.ID, err)
			}
			broken = true
			if _, err := h.Lost(t.Context(), oracletest.Owner); err == nil {
				t.Error("whether it is archived is not known, and that is nothing")
			}
			return
		}
		t.Error("nobody looks")
	})
}

func TestWhoIsNotErased(t *testing.T) {
	t.Parallel()
	alice := identitytest.Alice.DID
	for name, change := range map[string]func(*people.Deps){
		"has_role": func(d *people.Deps) {
			d.RoleOf = func(context.Context, string) (operators.Role, error) { return operators.Viewer, nil }
		},
		"not_all_services": func(d *people.Deps) {
			d.Elsewhere = func(context.Context) ([]string, error) { return []string{"oracle"}, nil }
		},
		"": func(d *people.Deps) { d.Service = alice },
	} {
		d := opened(t, sqldbtest.SQLite(t))
		d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
		change(&d)
		_, err := d.Erase(t.Context(), alice, "o", time.Hour)
		if !fault.Is(err, fault.Conflict) || (name != "" && fault.From(err).Code != name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, block, err := d.Book.Standing(t.Context(), alice); err != nil || block != nil {
			t.Errorf("%s: who is not erased is blocked: %v %v", name, block, err)
		}
	}
}

// What stays is said to operators in their language.
func TestTheReceiptIsInTheLanguageOfTheAsker(t *testing.T) {
	t.Parallel()
	d := opened(t, sqldbtest.SQLite(t))
	d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
	d.Quotas = membership.NewQuotas(d.Book, nil, nil, nil)
	server, err := httpserver.New(httpserver.Config{OperatorToken: "hush"})
	if err == nil {
		err = server.Mount(people.Surface(d))
	}
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{"": "le blocage", "?language=sw": "zuio", "?language=en": "the block"} {
		at := "/operator/people/" + identitytest.Alice.DID + "/erase" + query
		r := httptest.NewRequest(http.MethodPost, at, strings.NewReader(`{"confirm":"`+identitytest.Alice.DID+`"}`))
		r.Header.Set("Authorization", "Bearer hush")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept-Language", "fr, en;q=0.5")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		var said people.Receipt
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || len(said.Stays) != 9 ||
			!strings.HasPrefix(said.Stays[0], want) {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}

// What is kept of somebody whose lost key was bound anew is under their name, and so is
// their role: whoever names the new key is told.
func TestABoundKeyIsNobody(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		d := opened(t, open(t))
		d.PersonOf = func(did string) string {
			if did == identitytest.Bob.DID {
				return identitytest.Alice.DID
			}
			return did
		}
		server, err := httpserver.New(httpserver.Config{OperatorToken: "hush"})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Mount(people.Surface(d)); err != nil {
			t.Fatal(err)
		}
		for _, ask := range []struct{ method, path, body string }{
			{http.MethodPut, "/block", "{}"},
			{http.MethodGet, "/quota", ""},
			{http.MethodPut, "/quota", `{"messages":1}`},
			{http.MethodDelete, "/quota", ""},
			{http.MethodPost, "/export", ""},
			{http.MethodPost, "/erase", `{"confirm":"` + identitytest.Bob.DID + `"}`},
		} {
			at := "/operator/people/" + identitytest.Bob.DID + ask.path
			r := httptest.NewRequest(ask.method, at, strings.NewReader(ask.body))
			r.Header.Set("Authorization", "Bearer hush")
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), identitytest.Alice.DID) {
				t.Errorf("%s %s: %d %s", ask.method, ask.path, w.Code, w.Body)
			}
		}
	})
}
