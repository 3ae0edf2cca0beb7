package ussdlist_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// shelf is one document.
type shelf struct {
	mu    sync.Mutex
	is    state
	asked int
}

type state struct {
	price, version string
	err            error
	slow           time.Duration
}

func (s *shelf) set(is state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.is = is
}

func (s *shelf) Table(_ context.Context, _ ussdlist.List, known string) (*ussdlist.Table, string, error) {
	s.mu.Lock()
	s.asked++
	is := s.is
	s.mu.Unlock()
	time.Sleep(is.slow)
	if is.err != nil || is.version == known {
		return nil, is.version, is.err
	}
	t, err := ussdlist.NewTable([]string{"Crop", "Price"}, [][]string{{"Maize", is.price}})
	return t, is.version, err
}

// A document's list is new within two seconds, is the last good one while nobody can
// read a newer one, holds nobody for long, and ends with the document.
func TestAListIsADocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{is: state{price: "3200", version: "1"}}
		lists := ussdlist.Lists{Documents: ussdlist.NewDocuments(s, time.Now, slog.New(slog.DiscardHandler))}
		l := ussdlist.List{Document: "prices.xlsx", Collection: "c", Show: map[string]string{"en": "{{Crop}} {{Price}}"}}
		shows := func(want string) {
			t.Helper()
			rows, _, err := find(t.Context(), lists, l, "mai")
			if got := append(rows, ""); err == nil && got[0] != want || err != nil && want != "" {
				t.Errorf("%q, %v: want %q", rows, err, want)
			}
		}
		shows("Maize 3200")
		s.set(state{price: "3300", version: "2"})
		shows("Maize 3200")
		if s.asked != 1 {
			t.Errorf("asked %d times at once", s.asked)
		}
		time.Sleep(2 * time.Second)
		shows("Maize 3300")

		time.Sleep(2 * time.Second)
		s.set(state{err: errors.New("the database is away")})
		shows("Maize 3300")

		time.Sleep(2 * time.Second)
		s.set(state{price: "3400", version: "3", slow: 10 * time.Second})
		began := time.Now()
		shows("Maize 3300")
		if waited := time.Since(began); waited > 2*time.Second {
			t.Errorf("a caller waited for %s", waited)
		}
		time.Sleep(9 * time.Second)
		s.set(state{price: "3400", version: "3"})
		shows("Maize 3400")

		time.Sleep(2 * time.Second)
		s.set(state{err: fault.New(fault.NotFound, "it is not for everybody any more")})
		shows("")
		s.set(state{err: errors.New("the database is away")})
		shows("") // the last good one is forgotten
	})
}

// What cannot be read is not looked for at every hop, and a broken document is read once.
func TestAListThatCannotBeReadIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{is: state{err: fault.New(fault.NotFound, "no such document")}}
		lists := ussdlist.Lists{Documents: ussdlist.NewDocuments(s, time.Now, slog.New(slog.DiscardHandler))}
		l := ussdlist.List{Document: "prices.xlsx", Collection: "c", Show: map[string]string{"en": "{{Crop}} {{Price}}"}}
		fails := func(asked int) {
			t.Helper()
			if rows, _, err := find(t.Context(), lists, l, "mai"); err == nil || s.asked != asked {
				t.Errorf("%q, %v, asked %d times, want %d", rows, err, s.asked, asked)
			}
		}
		fails(1)
		fails(1)
		time.Sleep(2 * time.Second)
		s.set(state{err: errors.New("no table"), version: "1"})
		fails(2)
		fails(2)
		time.Sleep(2 * time.Second)
		s.set(state{version: "1"}) // as it was: it is not read again
		fails(3)
		time.Sleep(2 * time.Second)
		s.set(state{price: "3200", version: "2"})
		if rows, _, err := find(t.Context(), lists, l, "mai"); err != nil || len(rows) != 1 {
			t.Errorf("%q, %v", rows, err)
		}
	})
}

// A node that lacks what a list reads says so.
func TestAListWithoutItsPlace(t *testing.T) {
	t.Parallel()
	for _, l := range []ussdlist.List{{File: "prices.csv"}, {Document: "prices.csv", Collection: "c"}} {
		if rows, _, err := find(t.Context(), ussdlist.Lists{}, l, ""); err == nil {
			t.Errorf("%+v: %q", l, rows)
		}
	}
}

// A menu is tried without a server: a file of the document's name has its rows.
func TestAFileStandsInForADocument(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write(t, prices)
	l := list("Crop")
	l.File, l.Document = "", "of/2026/prices.xlsx"
	if rows, _, err := find(t.Context(), f, l, "beans"); err != nil || len(rows) != 1 {
		t.Errorf("%q, %v", rows, err)
	}
}
