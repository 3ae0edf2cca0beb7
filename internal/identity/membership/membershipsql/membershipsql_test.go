package membershipsql_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

var at = time.UnixMilli(1_800_000_000_123).UTC()

// each runs body on both engines, with two stores that stand for two nodes.
func each(t *testing.T, body func(t *testing.T, here, there *membershipsql.Store)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), membershipsql.Migrations())
		body(t, membershipsql.New(db), membershipsql.New(db))
	})
}

func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s, _ *membershipsql.Store) {
		ctx := t.Context()
		for i, did := range []string{"did:x:b", "did:x:a", "did:x:A"} {
			for _, want := range []bool{true, false} {
				if added, err := s.AddMember(ctx, membership.Member{DID: did, Note: fmt.Sprint(i), Added: at}); err != nil ||
					added != want {
					t.Fatalf("add %s: %t, %v", did, added, err)
				}
			}
		}
		list, err := s.Members(ctx, "did:x:A", 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]membership.Member{
			{DID: "did:x:a", Note: "1", Added: at},
			{DID: "did:x:b", Note: "0", Added: at},
		}, list); diff != "" {
			t.Errorf("members (-want +got):\n%s", diff)
		}
		for _, did := range []string{"did:x:b", "did:x:a"} {
			if removed, err := s.RemoveMember(ctx, did, at); err != nil || !removed {
				t.Fatalf("remove %s: %t, %v", did, removed, err)
			}
		}
		if removed, err := s.RemoveMember(ctx, "did:x:b", at); err != nil || removed {
			t.Errorf("removed twice: %t, %v", removed, err)
		}
		gone, err := s.Departures(ctx, 0, 10)
		if err != nil || len(gone) != 2 || gone[0].DID != "did:x:b" || gone[1].DID != "did:x:a" || gone[0].Feed >= gone[1].Feed {
			t.Errorf("who left: %v, %v", gone, err)
		}
		if added, err := s.AddMember(ctx, membership.Member{DID: "did:x:b", Added: at}); err != nil || !added {
			t.Errorf("brought back: %t, %v", added, err)
		}
		for did, want := range map[string]bool{"did:x:a": false, "did:x:b": true, "did:x:A": true, "did:x:": false} {
			if is, err := s.IsMember(ctx, did); err != nil || is != want {
				t.Errorf("%s is a member: %t, %v", did, is, err)
			}
		}
		if n, err := s.CountMembers(ctx); err != nil || n != 2 {
			t.Errorf("%d members, %v", n, err)
		}
	})
}

func TestTheChoiceIsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *membershipsql.Store) {
		if m, err := there.Choice(t.Context()); err != nil || m != "" {
			t.Fatalf("before: %q, %v", m, err)
		}
		for _, mode := range []membership.Mode{membership.Invite, membership.Invite, membership.Closed} {
			if err := here.Choose(t.Context(), mode, at); err != nil {
				t.Fatal(err)
			}
			if m, err := there.Choice(t.Context()); err != nil || m != mode {
				t.Errorf("chosen %s: %q, %v", mode, m, err)
			}
		}
	})
}

// books are two nodes at one time.
func books(t *testing.T, here, there *membershipsql.Store, now *time.Time) []*membership.Book {
	t.Helper()
	var out []*membership.Book
	for _, s := range []*membershipsql.Store{here, there} {
		b, err := membership.NewBook(s, nil, func() time.Time { return *now })
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// TestAnInvitationIsUsedAsOftenAsItSays lets more people redeem at once than may,
// each several times as one does whose answer got lost, on two nodes.
func TestAnInvitationIsUsedAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *membershipsql.Store) {
		now := at
		nodes := books(t, here, there, &now)
		const uses, people, tries = 5, 12, 3
		made, code, err := nodes[0].Invite(t.Context(), membership.NewInvitation{Uses: uses, Note: "harvest"})
		if err != nil {
			t.Fatal(err)
		}
		var (
			in [people]atomic.Int64
			wg sync.WaitGroup
		)
		for person := range people {
			did := identitytest.NewActor(fmt.Sprint("guest ", person)).DID
			for try := range tries {
				wg.Go(func() {
					m, err := nodes[(person+try)%2].Redeem(t.Context(), did, code)
					switch {
					case err == nil:
						in[person].Add(1)
						if m.DID != did || m.Invite != made.ID || m.Note != "harvest" {
							t.Errorf("redeemed as %+v", m)
						}
					case fault.From(err).Code != "invitation_over":
						t.Errorf("refused with %v", err)
					}
				})
			}
		}
		wg.Wait()
		inside := 0
		for person := range people {
			switch in[person].Load() {
			case tries:
				inside++
			case 0:
			default:
				// Some tries came before there was room for nobody more: all later ones must agree.
				inside++
				if _, err := nodes[0].Redeem(t.Context(), identitytest.NewActor(fmt.Sprint("guest ", person)).DID, code); err != nil {
					t.Errorf("a member redeems again: %v", err)
				}
			}
		}
		list, err := nodes[1].Invitations(t.Context(), now.Add(time.Hour), 10)
		if err != nil || len(list) != 1 || list[0].Uses != uses || inside != uses {
			t.Errorf("%d people are in, invitations %+v, %v", inside, list, err)
		}
		if n, err := nodes[0].CountMembers(t.Context()); err != nil || n != uses {
			t.Errorf("%d members, %v", n, err)
		}
	})
}

func TestInvitationsThatDoNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there *membershipsql.Store) {
		now := at
		nodes := books(t, here, there, &now)
		ctx, guest := t.Context(), identitytest.Bob.DID
		made, code, err := nodes[0].Invite(ctx, membership.NewInvitation{Uses: 3, Life: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what, did, code, why string) {
			t.Helper()
			if _, err := nodes[1].Redeem(ctx, did, code); err == nil || fault.From(err).Code != why {
				t.Errorf("%s: %v, want %s", what, err, why)
			}
		}
		for what, other := range map[string]string{
			"nothing": "", "another": "AAAAAAAAAAAAAAAAAAAAAAAAAA", "lower case": string(lower(code)), "a blank": code + " ",
			"padded": code + "======", "cut": code[:25],
		} {
			refused(what, guest, other, "invitation_unknown")
		}
		now = at.Add(time.Hour)
		refused("expired", guest, code, "invitation_over")
		now = at
		if _, err := nodes[1].Redeem(ctx, guest, code); err != nil {
			t.Fatal(err)
		}
		if err := nodes[0].RemoveMember(ctx, guest); err != nil {
			t.Fatal(err)
		}
		refused("a member who was removed", guest, code, "member_removed")
		now = at.Add(time.Minute)
		_, later, err := nodes[0].Invite(ctx, membership.NewInvitation{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nodes[1].Redeem(ctx, guest, later); err != nil {
			t.Errorf("an invitation made after the removal: %v", err)
		}
		if err := nodes[0].RevokeInvitation(ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		refused("revoked", identitytest.Carol.DID, code, "invitation_over")
		if err := nodes[0].RevokeInvitation(ctx, made.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("revoked twice: %v", err)
		}
		if _, err := nodes[0].Redeem(ctx, guest, later); err != nil {
			t.Errorf("a member redeems again: %v", err)
		}
		for what, n := range map[string]membership.NewInvitation{
			"too many uses": {Uses: membership.MaxUses + 1}, "less than no use": {Uses: -1},
			"too long": {Life: 91 * 24 * time.Hour}, "too short": {Life: time.Second},
			"a long note": {Note: string(make([]byte, 300))},
		} {
			if _, _, err := nodes[0].Invite(ctx, n); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func lower(s string) []byte {
	out := []byte(s)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}
