package knowledgekit

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// What somebody holds opens the collections below it, and ends with what it was made
// of; it opens nothing where the file store would not take it.
func TestHoldersReadWhatTheyHold(t *testing.T) {
	t.Parallel()
	owner, holder := identitytest.Alice, identitytest.Bob
	w := knowledgetest.Embedded(t)
	home := identity.NamespaceOf(owner.DID)
	w.MustCreate(t, home, "Clinic", "/clinic", knowledge.Delegates)
	w.MustCreate(t, home, "Court", "/court", knowledge.Delegates)
	w.Files.Put(home, "/clinic/hours.txt", "# Hours\nThe dispensary opens at eight.")
	w.Files.Put(home, "/court/hours.txt", "# Hours\nThe dispensary is closed by the court.")
	w.Settle(t)
	ids := identitytest.New(t)
	principal := func(can identitytest.Option) identity.Principal {
		return identitytest.FilesPrincipal(t, ids, identitytest.Files(t, owner, ids.DID(), "fs/read", can))
	}
	clinic := principal(identitytest.Can("fs/read", owner.Home("/clinic")))
	some := principal(identitytest.CIDs("fs/read", owner.Home("/clinic"), "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"))
	away := fault.New(fault.Unavailable, "away")
	for name, c := range map[string]struct {
		who            string
		held           []identity.Principal
		refused, fails error
		counted        bool
		want           int
	}{
		"nothing":                   {who: holder.DID},
		"a folder":                  {who: holder.DID, held: []identity.Principal{clinic}, want: 1},
		"the same twice":            {who: holder.DID, held: []identity.Principal{clinic, clinic}, want: 1},
		"some contents":             {who: holder.DID, held: []identity.Principal{some}},
		"a link that is over":       {who: holder.DID, held: []identity.Principal{clinic}, refused: fault.New(fault.Forbidden, "the link is over")},
		"a link that is counted":    {who: holder.DID, held: []identity.Principal{clinic}, counted: true},
		"a telephone":               {who: "telephone", held: []identity.Principal{clinic}},
		"when nobody can tell":      {who: holder.DID, fails: away},
		"when the store cannot say": {who: holder.DID, held: []identity.Principal{clinic}, refused: away, fails: away},
	} {
		h := holders{
			svc: w.Node(func(d *knowledge.Deps, _ *knowledge.Config) {
				d.Counted = func(context.Context, identity.Principal) (bool, error) { return c.counted, nil }
			}),
			held: func(_ context.Context, user identity.Principal, _ ...string) ([]identity.Principal, error) {
				if user.DID != c.who || c.held == nil {
					return nil, c.fails
				}
				return c.held, nil
			},
			admit: func(context.Context, identity.Principal) error { return c.refused },
			log:   slog.New(slog.DiscardHandler),
		}
		who, err := h.callerOf(t.Context(), identity.Principal{DID: c.who})
		if !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		a, err := h.svc.Search(t.Context(), who, knowledge.Question{Text: "when does the dispensary open"})
		if err != nil || len(a.Hits) != c.want || c.want > 0 && a.Hits[0].CollectionName != "Clinic" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
