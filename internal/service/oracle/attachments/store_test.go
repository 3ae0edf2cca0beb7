package attachments_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

func TestFetchFromTheUsersStore(t *testing.T) {
	t.Parallel()
	const alice = "did:key:alice"
	store := func(_ context.Context, did string, b identity.Brought, cid string, limit int64) ([]byte, error) {
		if did != alice || b.Delegation != "granted" {
			return nil, plugin.ErrNoDelegation
		}
		switch cid {
		case "notes":
			return []byte("the bees dance"), nil
		case "huge":
			return make([]byte, limit), nil
		case "down":
			return nil, errors.New("connection refused by 10.0.0.7")
		}
		return nil, plugin.Errorf(http.StatusNotFound, "no")
	}
	f := attachments.New(attachments.Config{Store: store, MaxFile: 1000})
	none := attachments.New(attachments.Config{})
	for name, c := range map[string]struct {
		fetcher         *attachments.Fetcher
		cid, delegation string
		want            string
	}{
		"text":          {f, "notes", "granted", "the bees dance"},
		"not delegated": {f, "notes", "", "you have not let the oracle read your files"},
		"of another":    {f, "other", "granted", "does not show it"},
		"too large":     {f, "huge", "granted", "too large"},
		"store is down": {f, "down", "granted", "[could not be read]"},
		"no store":      {none, "notes", "granted", "no file store"},
	} {
		got, _ := c.fetcher.Fetch(t.Context(), turn.AttachmentQuery{
			Owner: alice, Brought: identity.Brought{Delegation: c.delegation},
			Attachments: []oracle.Attachment{{Filename: "n.md", Mimetype: "text/markdown", CID: c.cid}},
		})
		if all := got[0].Text + got[0].Note; !strings.Contains(all, c.want) {
			t.Errorf("%s: %q", name, all)
		}
	}
}
