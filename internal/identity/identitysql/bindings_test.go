package identitysql_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// binder binds keys in transactions of their own.
type binder struct {
	db    *sqldb.DB
	store *identitysql.Store
}

func (b binder) bind(ctx context.Context, person, key string) error {
	return b.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return b.store.Bind(ctx, tx, person, key, "an operator", time.UnixMilli(1_800_000_000_123))
	})
}

func (b binder) unbind(ctx context.Context, person, key string) error {
	return b.db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		return b.store.Unbind(ctx, tx, person, key)
	})
}

// state is who signs for whom: the live key of each person, and how many are lost.
func (b binder) state(t *testing.T) (live map[string]string, lost int) {
	t.Helper()
	all, err := b.store.Bindings(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	live = map[string]string{}
	last := int64(0)
	for _, one := range all {
		if one.Feed <= last {
			t.Errorf("feed went from %d to %d", last, one.Feed)
		}
		if last = one.Feed; one.Lost {
			lost++
			continue
		}
		if live[one.Person] != "" {
			t.Errorf("%s has two keys", one.Person)
		}
		live[one.Person] = one.Key
	}
	return live, lost
}

func eachBinder(t *testing.T, body func(t *testing.T, b binder)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		body(t, binder{db, identitysql.New(db)})
	})
}

func actor(name string) string { return identitytest.NewActor(name).DID }

// A person has one key that signs; each that is lost stays lost, and there are no circles.
func TestKeysAreBoundInARow(t *testing.T) {
	t.Parallel()
	eachBinder(t, func(t *testing.T, b binder) {
		ctx := t.Context()
		first, second, third, other := actor("first"), actor("second"), actor("third"), actor("other")
		for i, key := range []string{second, third} {
			if err := b.bind(ctx, first, key); err != nil {
				t.Fatal(err)
			}
			if live, lost := b.state(t); live[first] != key || lost != i+1 {
				t.Fatalf("after %d: %v, %d lost", i, live, lost)
			}
		}
		for name, pair := range map[string][2]string{
			"the first again": {first, first}, "a lost one": {first, second}, "the live one": {first, third},
			"of another person": {other, third}, "a lost one of another": {other, first}, "itself": {other, other},
			"a key as a person": {third, other}, "a lost key as a person": {second, other},
		} {
			if err := b.bind(ctx, pair[0], pair[1]); !errors.Is(err, identity.ErrKeyTaken) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, pair := range map[string][2]string{
			"an account": {"did:ixo:ixo1abc", other}, "a site": {other, "did:web:example.org"}, "no key": {other, "did:key:z6Mk"},
		} {
			if err := b.bind(ctx, pair[0], pair[1]); !errors.Is(err, identity.ErrNotAKey) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := b.unbind(ctx, first, second); !errors.Is(err, identity.ErrNotBound) {
			t.Errorf("one that is not the last: %v", err)
		}
		if err := b.unbind(ctx, other, third); !errors.Is(err, identity.ErrNotBound) {
			t.Errorf("of somebody else: %v", err)
		}
		for _, step := range [][2]string{{third, second}, {second, first}} {
			if err := b.unbind(ctx, first, step[0]); err != nil {
				t.Fatal(err)
			}
			if live, lost := b.state(t); live[first] != step[1] || lost != 2 {
				t.Errorf("after %s: %v, %d lost", step[0], live, lost)
			}
		}
		if err := b.unbind(ctx, first, first); !errors.Is(err, identity.ErrNotBound) {
			t.Errorf("the key that the person began with: %v", err)
		}
		if err := b.bind(ctx, first, third); !errors.Is(err, identity.ErrKeyTaken) {
			t.Errorf("one that was undone: %v", err)
		}
		if err := b.bind(ctx, first, other); err != nil {
			t.Errorf("after all that: %v", err)
		}
	})
}

// Of several bindings at once the person ends up with one key, and no key with two persons.
func TestBindingsTakeTurns(t *testing.T) {
	t.Parallel()
	eachBinder(t, func(t *testing.T, b binder) {
		var wg sync.WaitGroup
		var done atomic.Int64
		key := actor("wanted")
		for _, person := range []string{"p0", "p1", "p2", "p3"} {
			wg.Go(func() {
				switch err := b.bind(t.Context(), actor(person), key); {
				case err == nil:
					done.Add(1)
				case !errors.Is(err, identity.ErrKeyTaken):
					t.Errorf("%s: %v", person, err)
				}
			})
		}
		wg.Wait()
		if live, lost := b.state(t); done.Load() != 1 || len(live) != 1 || lost != 1 {
			t.Errorf("%d bound it: %v, %d lost", done.Load(), live, lost)
		}
	})
}
