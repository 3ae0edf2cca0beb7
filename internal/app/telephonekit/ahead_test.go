package telephonekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const aheadMenu = `name: Lists
languages: [en]
start: home
exit: bye
labels: {back: {en: Back}, exit: {en: Exit}, next: {en: More}, previous: {en: Previous}, invalid: {en: Invalid.}}
lists:
  hours: {file: hours.csv, show: {en: "{{Place}}"}}
  prices: {document: prices.xlsx, collection: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f, show: {en: "{{Crop}}"}}
screens:
  home: {text: {en: Home}, exit: true}
  bye: {end: true, text: {en: Bye}}
`

// asked counts who is asked for which document.
type asked struct {
	mu    sync.Mutex
	times map[string]int
	err   error
}

func (a *asked) Table(_ context.Context, l ussdlist.List) (*ussdlist.Table, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[l.File+l.Document]++
	return nil, a.err
}

func (a *asked) say(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := fmt.Sprint(a.times)
	a.times, a.err = map[string]int{}, err
	return was
}

// Documents are read before anybody calls, until they are there, and again with other menus.
func TestListsAreReadAhead(t *testing.T) {
	t.Parallel()
	book := func(text string) *ussdbook.Book {
		b, err := ussd.ParseMenus(t.Context(), "menus.yaml", []byte(text), ussdmenu.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := book(aheadMenu), book(strings.ReplaceAll(aheadMenu, "prices.xlsx", "maize.xlsx"))
	synctest.Test(t, func(t *testing.T) {
		var menus atomic.Pointer[ussdbook.Book]
		menus.Store(first)
		lists := &asked{times: map[string]int{}, err: fault.New(fault.Unavailable, "it is being read")}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- telephonekit.ReadAhead(ctx, lists, menus.Load) }()
		for _, step := range []struct {
			err   error
			menus *ussdbook.Book
			want  string
		}{
			{lists.err, first, "map[prices.xlsx:1]"},
			{nil, first, "map[prices.xlsx:1]"},
			{nil, first, "map[prices.xlsx:1]"},
			{nil, second, "map[]"},
			{errors.New("there is no table in it"), first, "map[maize.xlsx:1]"},
			{nil, first, "map[prices.xlsx:1]"},
			{nil, first, "map[]"},
		} {
			synctest.Wait()
			if got := lists.say(step.err); got != step.want {
				t.Errorf("asked for %s, want %s", got, step.want)
			}
			menus.Store(step.menus)
			time.Sleep(time.Second)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
