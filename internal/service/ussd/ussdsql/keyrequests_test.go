package ussdsql_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorssql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey/ussdkeyhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

const fresh = "did:key:z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"

// lockSmith is who binds keys, in memory.
type lockSmith struct {
	mu    sync.Mutex
	bound map[string]string
	fails error
}

func (l *lockSmith) Bind(_ context.Context, _ sqldb.Querier, person, key, _ string, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails == nil {
		l.bound[person] = key
	}
	return l.fails
}

func (l *lockSmith) Unbind(_ context.Context, _ sqldb.Querier, person, _ string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bound, person)
	return nil
}

// keyDesk is the counter at which keys are asked for and approved.
type keyDesk struct {
	counter
	keys  *ussdkey.Service
	smith *lockSmith
	used  map[string]bool
	phone *ussdtest.Phone
	id    string
	told  int // of bindings
	out   *told
}

// witness says how people stand: their roles by the tables that q sees.
type witness struct {
	d *keyDesk
	q sqldb.Querier
}

func (w witness) Role(ctx context.Context, did string) (operators.Role, error) {
	return operatorssql.RoleIn(ctx, w.q, did)
}

func (w witness) Used(_ context.Context, did string) (bool, error) { return w.d.used[did], nil }

// give gives somebody a role, and takes it away again.
func (d *keyDesk) give(t *testing.T, did string, role operators.Role) (take func()) {
	t.Helper()
	roles := operatorssql.New(d.db)
	if err := roles.PutOperator(t.Context(), operators.Record{DID: did, Role: role, Added: d.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if was, err := roles.RemoveOperator(t.Context(), did, ""); err != nil || !was {
			t.Errorf("take the role of %s away: %v %v", did, was, err)
		}
	}
}

const keyWait = 24 * time.Hour

var (
	anOperator = ussdkey.Operator{Name: "operator"}
	boss       = ussdkey.Operator{Name: "boss", Owner: true}
)

// eachKeyDesk has Ann's account, linked with Ada.
func eachKeyDesk(t *testing.T, body func(t *testing.T, d *keyDesk)) {
	t.Helper()
	eachCounter(t, func(t *testing.T, c counter) {
		d := &keyDesk{
			counter: c, smith: &lockSmith{bound: map[string]string{}}, used: map[string]bool{}, out: &told{},
		}
		sqldbtest.Migrate(t, c.db, identitysql.Migrations())
		stand := func(q sqldb.Querier) ussdkey.Witness { return witness{d, q} }
		d.store = c.store.WithKeys(d.smith, stand).WithOutbox(d.out)
		d.keys = ussdkey.New(d.store, ussdkey.Config{
			Stands: stand(c.db.Read()),
			Bound:  func(context.Context) { d.told++ }, Now: c.clock.Now,
		})
		svc := c.node(func(cfg *ussd.Config) { cfg.NewKeyWait = keyWait })
		d.phone = ussdtest.NewPhone(svc, alice, "s1")
		d.id = register(t, d.phone, pin)
		d.link(t, d.phone, "s2", d.id)
		body(t, d)
	})
}

func (d *keyDesk) code(t *testing.T, key string) string {
	t.Helper()
	told, err := d.people.KeyCode(t.Context(), key, d.id)
	if err != nil {
		t.Fatal(err)
	}
	return told.Code
}

// profile dials and logs in as far as the profile.
func (d *keyDesk) profile(t *testing.T, session, want string) {
	t.Helper()
	d.phone.Dial(t, session)
	d.phone.Expect(t, "2", "", "1", "", pin, "Welcome", "1", "", "1", want)
}

// ask asks for the fresh key at the telephone and returns the request.
func (d *keyDesk) ask(t *testing.T, session string) ussdkey.Request {
	t.Helper()
	d.profile(t, session, "Lost key")
	d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", d.code(t, fresh), "Ask for "+fresh[:12], "1", "Our staff will decide")
	all, err := d.keys.Open(t.Context(), false)
	if err != nil || len(all) == 0 || all[0].Key != fresh || all[0].State != ussdkey.Waiting {
		t.Fatalf("%+v %v", all, err)
	}
	return all[0]
}

func (d *keyDesk) state(t *testing.T, id string) ussdkey.State {
	t.Helper()
	all, err := d.keys.Open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.ID == id {
			return r.State
		}
	}
	return ""
}

func refusedWith(err error, code string) bool {
	return err != nil && fault.From(err).Code == code
}

// Whoever presses a key that is none, or turns the pages of a small screen, is still asked.
func TestTheQuestionForANewKeyIsAskedAgain(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		d.profile(t, "s3", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", d.code(t, fresh), "Ask for "+fresh[:12],
			"7", "Invalid selection", "1", "Our staff will decide")
	})
}

// A request changes nothing until it has waited and an operator approves it; then it is
// bound once, and can be undone once.
func TestANewKeyWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		ctx := t.Context()
		d.clock.Jump(time.Second) // acts of one moment have no order
		r := d.ask(t, "s3")
		if r.Person != ada || r.Account != d.id || r.Phone != alice || r.Linked.IsZero() ||
			!r.Ready.Equal(r.Asked.Add(keyWait)) || !r.Expires.Equal(r.Ready.Add(ussd.NewKeyLife)) {
			t.Errorf("%+v", r)
		}
		if of, err := d.keys.Of(ctx, ada); err != nil || len(of) != 1 {
			t.Errorf("the old key is told %+v %v", of, err)
		}
		if of, err := d.keys.Of(ctx, eve); err != nil || len(of) != 0 {
			t.Errorf("somebody else is told %+v %v", of, err)
		}
		if _, err := d.keys.Approve(ctx, r.ID, anOperator); !refusedWith(err, "request_too_early") {
			t.Errorf("too early: %v", err)
		}
		d.clock.Jump(keyWait)
		d.smith.fails = errors.New("no")
		if _, err := d.keys.Approve(ctx, r.ID, anOperator); err == nil || d.state(t, r.ID) != ussdkey.Waiting {
			t.Errorf("approved without the key: %v", err)
		}
		d.smith.fails = nil
		done, err := d.keys.Approve(ctx, r.ID, anOperator)
		if err != nil || done.State != ussdkey.Approved || done.DecidedBy != "operator" ||
			d.smith.bound[ada] != fresh || d.told != 1 {
			t.Fatalf("%+v %v, bound %v", done, err, d.smith.bound)
		}
		if _, err := d.keys.Approve(ctx, r.ID, anOperator); !refusedWith(err, "request_approved") {
			t.Errorf("twice: %v", err)
		}
		if _, err := d.keys.Refuse(ctx, r.ID, "operator"); !refusedWith(err, "request_approved") {
			t.Errorf("refused afterwards: %v", err)
		}
		if d.person(t, d.id) != ada {
			t.Error("the telephone is another person")
		}
		d.clock.Jump(time.Second)
		if _, err := d.keys.Undo(ctx, r.ID, anOperator); err != nil || d.smith.bound[ada] != "" || d.told != 2 {
			t.Errorf("undo: %v", err)
		}
		if _, err := d.keys.Undo(ctx, r.ID, anOperator); !refusedWith(err, "request_undone") {
			t.Errorf("undone twice: %v", err)
		}
		acts, err := d.people.Acts(ctx, d.id, 3)
		if err != nil || len(acts) != 3 {
			t.Fatalf("%+v %v", acts, err)
		}
		for i, want := range []string{ussdpeople.ActUndoKey, ussdpeople.ActApproveKey, ussdpeople.ActAskKey} {
			if acts[i].Act != want {
				t.Errorf("act %d is %q, want %q", i, acts[i].Act, want)
			}
		}
	})
}

// Neither a telephone without its PIN, nor a code that is wrong, used or over asks for a
// key; wrong PINs and codes are counted as everywhere.
func TestWhoCannotAskForAKey(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		none := func(when string) {
			t.Helper()
			if all, err := d.keys.Open(t.Context(), true); err != nil || len(all) != 0 {
				t.Errorf("%s: %+v %v", when, all, err)
			}
		}
		code := d.code(t, fresh)
		d.profile(t, "s3", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", "11111", "Wrong PIN", "11111", "Wrong PIN", "11111", "Wrong PIN", "11111", "Wrong PIN", "11111", "Too many wrong PINs")
		none("wrong PINs")
		if ok, err := d.node().Unlock(t.Context(), d.id); err != nil || !ok {
			t.Fatal(ok, err)
		}
		d.clock.Jump(ussdpeople.LinkTime + time.Second)
		d.profile(t, "s4", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", code, "Wrong code")
		none("a code that is over")
		code = d.code(t, fresh)
		d.phone.Expect(t, code, "Ask for", "2", "Name: Ann")
		none("no")
		// A code of the link, and one for somebody else's account, is none.
		d.profile(t, "s5", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", d.linkCode(t, fresh, d.id), "Wrong code")
		r := d.ask(t, "s6")
		d.profile(t, "s7", "4. New key")
		d.phone.Expect(t, "4", "It waits for our staff", "1", "The request is cancelled")
		if d.state(t, r.ID) != ussdkey.Cancelled {
			t.Error("not cancelled")
		}
		d.profile(t, "s8", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", code, "Wrong code")
		// The old key asks for itself.
		d.profile(t, "s9", "Lost key")
		d.phone.Expect(t, "3", "Enter your PIN", pin, "8 digits", d.code(t, ada), "Ask for", "1", "no longer good")
		// Without a link there is nothing to ask for.
		if err := d.people.Unlink(t.Context(), ada, d.id); err != nil {
			t.Fatal(err)
		}
		d.phone.Dial(t, "s10")
		d.phone.Expect(t, "2", "", "1", "", pin, "Welcome", "1", "", "1", "Link web", "3", "Invalid selection")
		if _, err := d.people.KeyCode(t.Context(), "did:ixo:ixo1abc", d.id); !fault.Is(err, fault.Invalid) {
			t.Errorf("another kind of DID: %v", err)
		}
	})
}

// Whoever has the old key refuses; nobody decides about themselves, about who runs the
// deployment an owner does, and a key with something of its own is not bound.
func TestWhoDecidesAboutAKey(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		ctx := t.Context()
		r := d.ask(t, "s3")
		if _, err := d.keys.RefuseOwn(ctx, r.ID, eve); !fault.Is(err, fault.NotFound) {
			t.Errorf("a stranger refuses: %v", err)
		}
		if _, err := d.keys.RefuseOwn(ctx, r.ID, fresh); !fault.Is(err, fault.NotFound) {
			t.Errorf("the new key refuses: %v", err)
		}
		done, err := d.keys.RefuseOwn(ctx, r.ID, ada)
		if err != nil || done.State != ussdkey.Refused || done.DecidedBy != ada {
			t.Errorf("the old key refuses: %+v %v", done, err)
		}
		d.clock.Jump(keyWait)
		if _, err := d.keys.Approve(ctx, r.ID, anOperator); !refusedWith(err, "request_refused") {
			t.Errorf("approved all the same: %v", err)
		}
		r = d.ask(t, "s4")
		d.clock.Jump(keyWait)
		for _, self := range []string{ada, fresh} {
			if _, err := d.keys.Approve(ctx, r.ID, ussdkey.Operator{Name: self, Owner: true}); !refusedWith(err, "own_request") {
				t.Errorf("%s approves its own: %v", self, err)
			}
			helper := ussdkey.Operator{Name: eve, From: self}
			if _, err := d.keys.Approve(ctx, r.ID, helper); !refusedWith(err, "own_request") {
				t.Errorf("who acts by the role of %s approves for it: %v", self, err)
			}
		}
		d.give(t, ada, operators.Viewer)
		if _, err := d.keys.Approve(ctx, r.ID, anOperator); !refusedWith(err, "owner_needed") {
			t.Errorf("about an operator: %v", err)
		}
		d.used[fresh] = true
		if _, err := d.keys.Approve(ctx, r.ID, boss); !refusedWith(err, "key_used") {
			t.Errorf("a used key: %v", err)
		}
		d.used[fresh] = false
		if _, err := d.keys.Approve(ctx, "rb_none", anOperator); !fault.Is(err, fault.NotFound) {
			t.Errorf("none: %v", err)
		}
		d.clock.Jump(ussd.NewKeyLife)
		if _, err := d.keys.Approve(ctx, r.ID, boss); !refusedWith(err, "request_expired") || len(d.smith.bound) != 0 {
			t.Errorf("too late: %v, bound %v", err, d.smith.bound)
		}
		if all, err := d.keys.Open(ctx, false); err != nil || len(all) != 0 {
			t.Errorf("one that expired is open: %+v %v", all, err)
		}
	})
}

// A request ends with the link that it was made through, however that ends, and a person
// has one at a time.
func TestARequestEndsWithItsLink(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		ctx := t.Context()
		first := d.ask(t, "s3")
		d.profile(t, "s4", "4. New key")
		d.phone.Expect(t, "2", "Enter your PIN", pin, "not linked any more")
		if d.state(t, first.ID) != ussdkey.Cancelled {
			t.Error("it outlives the link")
		}
		d.link(t, d.phone, "s5", d.id)
		second := d.ask(t, "s6")
		if err := d.people.Unlink(ctx, ada, d.id); err != nil || d.state(t, second.ID) != ussdkey.Cancelled {
			t.Errorf("it outlives the browser's end of the link: %v", err)
		}
		d.link(t, d.phone, "s7", d.id)
		third := d.ask(t, "s8")
		d.clock.Jump(keyWait)
		if err := d.people.Move(ctx, d.id, bob, "operator"); err != nil || d.state(t, third.ID) != ussdkey.Cancelled {
			t.Errorf("it outlives a move: %v", err)
		}
		if _, err := d.keys.Approve(ctx, third.ID, anOperator); !refusedWith(err, "request_cancelled") {
			t.Errorf("approved all the same: %v", err)
		}
		if err := d.people.Move(ctx, d.id, alice, "operator"); err != nil {
			t.Fatal(err)
		}
		d.link(t, d.phone, "s9", d.id)
		d.ask(t, "s10")
		if _, err := d.people.Erase(ctx, d.id, "operator"); err != nil {
			t.Fatal(err)
		}
		if all, err := d.keys.Open(ctx, true); err != nil || len(all) != 0 {
			t.Errorf("erased with the account: %+v %v", all, err)
		}
	})
}

// An approved key is undone by who approved it, or by an owner, and not for ever: the
// person lives by it then. Both are told to the person.
func TestWhoUndoesAKey(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		ctx := t.Context()
		approved := func(session string) ussdkey.Request {
			t.Helper()
			r := d.ask(t, session)
			d.clock.Jump(keyWait)
			if _, err := d.keys.Approve(t.Context(), r.ID, anOperator); err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := approved("s3")
		if _, err := d.keys.Undo(ctx, r.ID, ussdkey.Operator{Name: "another"}); !refusedWith(err, "owner_needed") {
			t.Errorf("another operator: %v", err)
		}
		d.clock.Jump(ussdkey.UndoTime - time.Second)
		if all, err := d.keys.Open(ctx, false); err != nil || len(all) != 1 {
			t.Errorf("one that can be undone is listed: %+v %v", all, err)
		}
		if _, err := d.keys.Undo(ctx, r.ID, boss); err != nil {
			t.Errorf("an owner: %v", err)
		}
		d.link(t, d.phone, "s4", d.id)
		r = approved("s5")
		d.clock.Jump(ussdkey.UndoTime)
		for _, by := range []ussdkey.Operator{anOperator, boss} {
			if _, err := d.keys.Undo(ctx, r.ID, by); !refusedWith(err, "request_too_old") || d.smith.bound[ada] != fresh {
				t.Errorf("too late: %v, bound %v", err, d.smith.bound)
			}
		}
		if all, err := d.keys.Open(ctx, false); err != nil || len(all) != 0 {
			t.Errorf("one that cannot be undone is listed: %+v %v", all, err)
		}
		want := []string{ada + " key.bound", ada + " key.undone", ada + " key.bound"}
		if !slices.Equal(d.out.owners, want) || !strings.Contains(d.out.bodies[0], `"key":"`+fresh+`"`) {
			t.Errorf("told %q %q", d.out.owners, d.out.bodies)
		}
	})
}

// The list says to whom undoing is open, as undoing itself decides.
func TestTheListSaysWhoMayUndo(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		server, err := httpserver.New(httpserver.Config{
			OperatorToken: "hush",
			SignedOperator: func(r *http.Request) (httpserver.OperatorIdentity, error) {
				name, _ := httpserver.Bearer(r)
				roles := map[string]httpserver.Role{"viewer": httpserver.Viewer, boss.Name: httpserver.Owner, "lent": httpserver.Owner}
				return httpserver.OperatorIdentity{Name: name, Role: cmp.Or(roles[name], httpserver.Changer), Lent: name == "lent"}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Mount(ussdkeyhttp.Operators(d.keys)); err != nil {
			t.Fatal(err)
		}
		want := func(when string, want map[string]bool) {
			t.Helper()
			for name, may := range want {
				r := httptest.NewRequest(http.MethodGet, "/operator/ussd/key-requests?all=true", nil)
				r.Header.Set("Authorization", "Bearer "+name)
				w := httptest.NewRecorder()
				server.ServeHTTP(w, r)
				var list ussdkeyhttp.KeyRequestList
				if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Requests) != 1 {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				if list.Requests[0].MayUndo != may {
					t.Errorf("%s: %s may undo %t, want %t", when, name, !may, may)
				}
			}
		}
		nobody := map[string]bool{boss.Name: false, anOperator.Name: false, "another": false, "viewer": false}
		r := d.ask(t, "s3")
		want("it waits", nobody)
		d.clock.Jump(keyWait)
		if _, err := d.keys.Approve(t.Context(), r.ID, anOperator); err != nil {
			t.Fatal(err)
		}
		want("it is approved", map[string]bool{boss.Name: true, anOperator.Name: true, "another": false, "viewer": false, "lent": false})
		d.give(t, ada, operators.Viewer)
		want("the person runs the deployment", map[string]bool{boss.Name: true, anOperator.Name: false})
		d.clock.Jump(ussdkey.UndoTime)
		want("it is too old", nobody)
	})
}

// meanwhile lets something happen before a step is taken.
type meanwhile struct {
	ussdkey.Store
	happens func()
}

func (m meanwhile) DecideKey(ctx context.Context, id string, step ussdkey.Step) (ussdkey.Request, error) {
	m.happens()
	return m.Store.DecideKey(ctx, id, step)
}

// slowly returns the service as somebody has it while something else happens.
func (d *keyDesk) slowly(happens func()) *ussdkey.Service {
	return ussdkey.New(meanwhile{d.store, happens}, ussdkey.Config{
		Stands: witness{d, d.db.Read()}, Bound: func(context.Context) {}, Now: d.clock.Now,
	})
}

// Whoever is let in as an operator, and loses the role before the key is bound, binds none; nor
// does who lends a role that is gone, or an owner of whom less is left than it takes.
func TestWhatRolesAreLeftWhenAKeyIsApproved(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		ctx := t.Context()
		r := d.ask(t, "s3")
		d.clock.Jump(keyWait)
		refused := func(what, code string, by ussdkey.Operator, happens func()) {
			t.Helper()
			if _, err := d.slowly(happens).Approve(ctx, r.ID, by); !refusedWith(err, code) || len(d.smith.bound) != 0 {
				t.Errorf("%s: %v, bound %v", what, err, d.smith.bound)
			}
		}
		self, guest := ussdkey.Operator{Name: eve, From: eve}, ussdkey.Operator{Name: "did:x:guest", From: eve}
		refused("the role is taken away", "role_too_low", self, d.give(t, eve, operators.Operator))
		refused("that of who lends it is", "role_too_low", guest, d.give(t, eve, operators.Operator))
		d.give(t, eve, operators.Operator)
		refused("less is left of it", "role_too_low", self, func() { d.give(t, eve, operators.Viewer) })
		d.give(t, eve, operators.Owner)
		refused("the person is made an operator", "owner_needed", anOperator, func() { d.give(t, ada, operators.Operator) })
		refused("an owner becomes an operator", "owner_needed", ussdkey.Operator{Name: eve, From: eve, Owner: true},
			func() { d.give(t, eve, operators.Operator) })
		refused("the key is used", "key_used", boss, func() { d.used[fresh] = true })
		d.used[fresh] = false
		d.give(t, eve, operators.Owner)
		owner := ussdkey.Operator{Name: eve, From: eve, Owner: true}
		if _, err := d.keys.Approve(ctx, r.ID, owner); err != nil || d.smith.bound[ada] != fresh {
			t.Errorf("an owner: %v, bound %v", err, d.smith.bound)
		}
		_, err := d.slowly(func() { d.give(t, eve, operators.Viewer) }).Undo(ctx, r.ID, owner)
		if !refusedWith(err, "role_too_low") || d.smith.bound[ada] != fresh {
			t.Errorf("undone without a role: %v, bound %v", err, d.smith.bound)
		}
	})
}

// Whoever reads a request that waits, and undoes it after somebody else has approved it, is
// not who approved it.
func TestWhoUndoesAKeyThatIsApprovedMeanwhile(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		r := d.ask(t, "s3")
		d.clock.Jump(keyWait)
		slow := d.slowly(func() {
			if _, err := d.keys.Approve(t.Context(), r.ID, anOperator); err != nil {
				t.Error(err)
			}
		})
		_, err := slow.Undo(t.Context(), r.ID, ussdkey.Operator{Name: "another"})
		if !refusedWith(err, "owner_needed") || d.smith.bound[ada] != fresh {
			t.Errorf("another operator: %v, bound %v", err, d.smith.bound)
		}
		if got := d.state(t, r.ID); got != ussdkey.Approved {
			t.Errorf("it is %s", got)
		}
	})
}

// Of several operators at once one decides.
func TestOneDecidesAboutAKey(t *testing.T) {
	t.Parallel()
	eachKeyDesk(t, func(t *testing.T, d *keyDesk) {
		r := d.ask(t, "s3")
		d.clock.Jump(keyWait)
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			wg.Go(func() {
				if i%2 == 0 {
					_, errs[i] = d.store.DecideKey(t.Context(), r.ID, ussdkey.Step{To: ussdkey.Approved, By: "operator", At: d.clock.Now()})
					return
				}
				_, errs[i] = d.store.DecideKey(t.Context(), r.ID, ussdkey.Step{To: ussdkey.Refused, By: "operator", At: d.clock.Now()})
			})
		}
		wg.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
			} else if !strings.HasPrefix(fault.From(err).Code, "request_") {
				t.Errorf("%v", err)
			}
		}
		if done != 1 {
			t.Errorf("%d decided", done)
		}
	})
}
