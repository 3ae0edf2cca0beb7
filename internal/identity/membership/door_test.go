package membership_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

var (
	alice, bob, carol = identitytest.Alice, identitytest.Bob, identitytest.Carol
	oracle            = identitytest.Oracle
)

// node is one node of a deployment: its door, and identity behind it.
type node struct {
	*identity.Service
	door *membership.Door
	book *membership.Book
}

func newNode(t *testing.T, db *sqldb.DB, mode membership.Mode, named ...string) node {
	t.Helper()
	return newNodeThatFollows(t, db, func() membership.Mode { return mode }, named...)
}

func newNodeThatFollows(t *testing.T, db *sqldb.DB, mode func() membership.Mode, named ...string) node {
	t.Helper()
	book, err := membership.NewBook(membershipsql.New(db), named, nil)
	if err != nil {
		t.Fatal(err)
	}
	door, err := membership.NewDoor(book, membership.Config{Mode: mode, ServiceDID: oracle.DID})
	if err != nil {
		t.Fatal(err)
	}
	return node{identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Door = door }), door, book}
}

func (n node) enter(t *testing.T, surface identity.Surface, token string) (identity.Principal, error) {
	t.Helper()
	return n.Authenticate(t.Context(), surface, identity.Credentials{Bearer: token, AuthType: "ucan"})
}

func openDB(t *testing.T) *sqldb.DB {
	t.Helper()
	return sqldbtest.Migrate(t, sqldbtest.SQLite(t), membershipsql.Migrations())
}

func wantRefused(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.Forbidden) || fault.From(err).Code != membership.CodeNotMember {
		t.Errorf("%s: %v, want a refusal at the door", what, err)
	}
}

func TestEverySurfaceAsksTheDoor(t *testing.T) {
	t.Parallel()
	for _, mode := range []membership.Mode{membership.Invite, membership.Closed} {
		n := newNode(t, openDB(t), mode, alice.DID)
		if _, _, err := n.book.AddMember(t.Context(), bob.DID, ""); err != nil {
			t.Fatal(err)
		}
		for _, surface := range []identity.Surface{identity.Oracle, identity.Files, identity.MCP, identity.Query} {
			mint := func(from identitytest.Actor) string {
				if surface == identity.Oracle || surface == identity.Query {
					return identitytest.Invocation(t, from, n.DID())
				}
				return identitytest.Files(t, from, n.DID(), "fs/*")
			}
			for _, member := range []identitytest.Actor{alice, bob} {
				if p, err := n.enter(t, surface, mint(member)); err != nil || p.Sponsor != member.DID {
					t.Errorf("%s %s: %s as %q: %v", mode, surface, member.Name, p.Sponsor, err)
				}
			}
			_, err := n.enter(t, surface, mint(carol))
			wantRefused(t, string(mode)+" "+surface.String(), err)
			if err != nil && (!strings.Contains(fault.From(err).Message, "operator") || fault.From(err).Fields["did"] != carol.DID) {
				t.Errorf("the refusal does not say what to do: %v", err)
			}
		}
		_, err := n.Authenticate(t.Context(), identity.Oracle,
			identity.Handshake("", identitytest.Delegation(t, carol, n.DID(), identitytest.Can("*", "ixo:oracle"))))
		wantRefused(t, "a bare delegation", err)
		if p, err := n.enter(t, identity.Entrance, identitytest.Invocation(t, carol, n.DID())); err != nil ||
			p.DID != carol.DID {
			t.Errorf("the entrance: %v", err)
		}
		if _, err := n.Authenticate(t.Context(), identity.Entrance,
			identity.Handshake("", identitytest.Delegation(t, carol, n.DID()))); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("a bare delegation at the entrance: %v", err)
		}
	}
	open := newNode(t, openDB(t), membership.Open)
	if _, err := open.enter(t, identity.Oracle, identitytest.Invocation(t, carol, open.DID())); err != nil {
		t.Errorf("an open door: %v", err)
	}
}

// TestWhatAMemberGivesAwayWorks lets strangers in with a member's authority, and
// with nothing but what it says.
func TestWhatAMemberGivesAwayWorks(t *testing.T) {
	t.Parallel()
	n := newNode(t, openDB(t), membership.Invite, alice.DID)
	share := identitytest.Delegation(t, alice, carol.DID, identitytest.Can("fs/read", alice.Home("/reports")))
	read := identitytest.Files(t, carol, n.DID(), "", identitytest.Can("fs/read", alice.Home("/reports")),
		identitytest.Proof(share))
	if p, err := n.enter(t, identity.Files, read); err != nil || p.Sponsor != alice.DID {
		t.Errorf("a shared folder: %q %v", p.Sponsor, err)
	}
	_, err := n.enter(t, identity.Files, identitytest.Files(t, carol, n.DID(), "fs/*", identitytest.Proof(share)))
	wantRefused(t, "the stranger's own files", err)
	both := identitytest.Files(t, carol, n.DID(), "", identitytest.Can("fs/read", alice.Home("/reports")),
		identitytest.Can("fs/*", carol.Home("")), identitytest.Proof(share))
	_, err = n.enter(t, identity.Files, both)
	wantRefused(t, "the stranger's own files beside the shared ones", err)
	if _, err = n.enter(t, identity.Oracle,
		identitytest.Invocation(t, carol, n.DID(), identitytest.Proof(share))); err == nil {
		t.Error("a link to a folder opened the oracle")
	}
	_, err = n.Authenticate(t.Context(), identity.Oracle, identity.Handshake("",
		identitytest.Delegation(t, carol, n.DID(), identitytest.Can("*", "ixo:oracle"), identitytest.Proof(share))))
	wantRefused(t, "a bare delegation over a link", err)
	grant := identitytest.Delegation(t, alice, carol.DID, identitytest.Can("*", "ixo:oracle"))
	if p, err := n.enter(t, identity.Oracle,
		identitytest.Invocation(t, carol, n.DID(), identitytest.Proof(grant))); err != nil || p.Sponsor != alice.DID ||
		p.DID != carol.DID {
		t.Errorf("an agent of a member: %q %v", p.Sponsor, err)
	}
	// The oracle works for members, and for nobody else.
	for user, may := range map[string]identitytest.Actor{"member": alice, "stranger": bob} {
		mine := identitytest.Delegation(t, may, n.DID(), identitytest.Can("fs/*", may.Home("")))
		token := identitytest.Files(t, oracle, n.DID(), "", identitytest.Can("fs/read", may.Home("")), identitytest.Proof(mine))
		_, err := n.enter(t, identity.MCP, token)
		if user == "stranger" {
			wantRefused(t, "the oracle for a stranger", err)
		} else if err != nil {
			t.Errorf("the oracle for a member: %v", err)
		}
	}
}

// TestWhoLeavesIsGoneEverywhere removes a member at one node: the other refuses
// them at its next look, and ends what is open.
func TestWhoLeavesIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	here, there := newNode(t, db, membership.Invite), newNode(t, db, membership.Invite)
	for _, who := range []identitytest.Actor{alice, bob} {
		if _, _, err := here.book.AddMember(t.Context(), who.DID, ""); err != nil {
			t.Fatal(err)
		}
	}
	grant := identitytest.Delegation(t, alice, carol.DID, identitytest.Can("*", "ixo:oracle"))
	tokens := map[string]string{
		"alice": identitytest.Invocation(t, alice, oracle.DID), "bob": identitytest.Invocation(t, bob, oracle.DID),
		"carol for alice": identitytest.Invocation(t, carol, oracle.DID, identitytest.Proof(grant)),
		"bob for alice": identitytest.Invocation(t, bob, oracle.DID, identitytest.Proof(
			identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", "ixo:oracle")))),
	}
	ended := map[string]<-chan struct{}{}
	for name, token := range tokens {
		p, err := there.enter(t, identity.Oracle, token)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var stop func()
		ended[name], stop = there.Watch(p)
		defer stop()
	}
	late, err := there.enter(t, identity.Oracle, tokens["alice"])
	if err != nil {
		t.Fatal(err)
	}
	if err := here.book.RemoveMember(t.Context(), alice.DID); err != nil {
		t.Fatal(err)
	}
	there.door.Announce(t.Context()) // what its poll and the hint do
	for name, token := range tokens {
		stays := name == "bob" || name == "bob for alice"
		_, err := there.enter(t, identity.Oracle, token)
		if stays && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !stays {
			wantRefused(t, name, err)
		}
		select {
		case <-ended[name]:
			if stays {
				t.Errorf("%s: the connection ended", name)
			}
		default:
			if !stays {
				t.Errorf("%s: the connection is open", name)
			}
		}
	}
	// A connection that was let in before the removal and is watched after it.
	gone, stop := there.Watch(late)
	defer stop()
	there.door.Announce(t.Context())
	select {
	case <-gone:
	default:
		t.Error("a connection that was made meanwhile is open")
	}
	if _, added, err := here.book.AddMember(t.Context(), alice.DID, ""); err != nil || !added {
		t.Fatal(err)
	}
	if _, err := there.enter(t, identity.Oracle, tokens["alice"]); err != nil {
		t.Errorf("brought back: %v", err)
	}
}

// TestADoorIsClosedWhileItIsOpen changes who may come in while people are here.
func TestADoorIsClosedWhileItIsOpen(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), membershipsql.Migrations())
		mode := membership.Open
		n := newNodeThatFollows(t, db, func() membership.Mode { return mode }, alice.DID)
		ended := map[string]<-chan struct{}{}
		for _, who := range []identitytest.Actor{alice, carol} {
			p, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, who, n.DID()))
			if err != nil {
				t.Fatal(err)
			}
			end, stop := n.Watch(p)
			defer stop()
			ended[who.Name] = end
		}
		n.door.Announce(t.Context()) // all that was watched was looked at
		mode = membership.Closed
		_, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, carol, n.DID()))
		wantRefused(t, "a stranger at a door that was closed", err)
		n.door.Announce(t.Context()) // as its poll does
		select {
		case <-ended[carol.Name]:
		default:
			t.Error("the stranger's connection is open")
		}
		select {
		case <-ended[alice.Name]:
			t.Error("the member's connection ended")
		default:
		}
		if noted, err := membershipsql.New(db).Choice(t.Context()); err != nil || noted != membership.Closed {
			t.Errorf("an earlier release would start %q: %v", noted, err)
		}
		mode = membership.Open
		if _, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, carol, n.DID())); err != nil {
			t.Errorf("at a door that was opened again: %v", err)
		}
	})
}

// TestADoorThatCanNotLookLetsNobodyIn takes the database away.
func TestADoorThatCanNotLookLetsNobodyIn(t *testing.T) {
	t.Parallel()
	breaker := &sqldbtest.Breaker{}
	db := sqldbtest.Migrate(t, sqldbtest.Open(t, sqldbtest.SQLiteURL(t), sqldb.Options{Fault: breaker.Fault}),
		membershipsql.Migrations())
	n := newNode(t, db, membership.Closed)
	breaker.Break()
	if _, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, alice, n.DID())); !fault.Is(err,
		fault.Unavailable) {
		t.Errorf("without a database: %v", err)
	}
	breaker.Restore()
	_, err := n.enter(t, identity.Oracle, identitytest.Invocation(t, alice, n.DID()))
	wantRefused(t, "with the database back", err)
}

// TestRunHearsOfDepartures follows the feed as a node does.
func TestRunHearsOfDepartures(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	here, there := newNode(t, db, membership.Closed), newNode(t, db, membership.Closed)
	if _, _, err := here.book.AddMember(t.Context(), alice.DID, ""); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	done := make(chan error, 1)
	go func() { done <- there.door.Run(ctx) }()
	p, err := there.enter(t, identity.Oracle, identitytest.Invocation(t, alice, there.DID()))
	if err != nil {
		t.Fatal(err)
	}
	ended, unwatch := there.Watch(p)
	defer unwatch()
	if err := here.book.RemoveMember(t.Context(), alice.DID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		t.Error("the connection of a member who left is still open")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDIDsOfTheSettingAreChecked(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	for _, wrong := range []string{"alice", "did:key:zNoKey", "did:key:"} {
		if _, err := membership.NewBook(membershipsql.New(db), []string{wrong}, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	n := newNode(t, db, membership.Closed, alice.DID)
	if err := n.book.RemoveMember(t.Context(), alice.DID); !fault.Is(err, fault.Conflict) {
		t.Errorf("remove a DID of the setting: %v", err)
	}
}
