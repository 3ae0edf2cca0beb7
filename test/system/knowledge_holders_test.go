package system_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/test/system"
)

// asked puts a question to the oracle in a conversation of its own.
func asked(t testing.TB, c *oracleclient.Client, question string) (answer string, err error) {
	t.Helper()
	session, err := c.CreateSession(t.Context())
	if err != nil {
		return "", err
	}
	if err := c.Ask(t.Context(), session, question, "", func(oracle.Frame) {}); err != nil {
		return "", err
	}
	said, err := c.History(t.Context(), session)
	if err != nil || len(said) == 0 {
		return "", fmt.Errorf("the conversation has %d messages: %w", len(said), err)
	}
	return said[len(said)-1].Content, nil
}

// Whoever holds an owner's delegation and gives the oracle one of it asks that owner's
// documents in a conversation, on every node, until the owner takes it back.
func TestKnowledgeOfHolders(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		owner, holder := identitytest.NewActor("owner"), identitytest.NewActor("holder")
		var document struct{ ID string }
		w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
		service := document.ID
		for _, folder := range []string{"/water", "/other"} {
			if _, err := documents(t, w.Node(0), owner.Signer).Create(t.Context(),
				knowledgehttp.CollectionBody{Name: folder[1:], Folder: folder, Readers: "delegates"}); err != nil {
				t.Fatal(err)
			}
		}
		for path, text := range map[string]string{"/water/minutes.md": pumpMinutes, "/other/wells.md": "# Wells\n\nThe deep well at Mwatate belongs to Halima.\n"} {
			if _, err := files(t, w.Node(1), owner.Signer).Put(t.Context(), path, "text/markdown", strings.NewReader(text),
				int64(len(text)), cid.CID{}); err != nil {
				t.Fatal(err)
			}
		}
		const question, answer, other = "Who keeps the key of the pump house?", "Peter Wafula keeps the key", "To whom does the deep well at Mwatate belong?"
		found := answered(t, documents(t, w.Node(0), owner.Signer), question, "Peter Wafula")
		answered(t, documents(t, w.Node(0), owner.Signer), other, "Halima")
		talk := func(n int) *oracleclient.Client {
			t.Helper()
			c, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(n).URL, Signer: holder.Signer})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if said, err := asked(t, talk(0), question); err != nil || strings.Contains(said, "Wafula") {
			t.Fatalf("before anything was delegated: %q, %v", said, err)
		}
		lent := identitytest.Delegation(t, owner, holder.DID, identitytest.Can("knowledge/read", owner.Home("/water")))
		given := identitytest.Delegation(t, holder, service, identitytest.Can("knowledge/read", owner.Home("/water")),
			identitytest.Proof(lent))
		if err := talk(1).Do(t.Context(), http.MethodPost, "/delegation", map[string]string{"raw": given}, nil); err != nil {
			t.Fatal(err)
		}
		for i := range w.Nodes {
			if said, err := asked(t, talk(i), question); err != nil || !strings.Contains(said, answer) {
				t.Errorf("node %d: %q, %v", i, said, err)
			}
			if said, err := asked(t, talk(i), other); err != nil || strings.Contains(said, "Halima") ||
				strings.Contains(said, "Wells") {
				t.Errorf("node %d, of another folder: %q, %v", i, said, err)
			}
		}
		h := found.Hits[0]
		if around, err := documents(t, w.Node(2), holder.Signer).Passages(t.Context(), h.Collection, h.Document, h.Number,
			0); err != nil || len(around) != 1 {
			t.Errorf("the passage that is cited: %+v, %v", around, err)
		}
		if reply := w.Node(1).Post(t, "/api/revocations", revocationBody(t, owner, service, lent)); reply.Status != http.StatusOK {
			t.Fatalf("revoke: %d %s", reply.Status, reply.Body)
		}
		for i := range w.Nodes {
			system.Eventually(t, "the documents are closed again", func() error {
				said, err := asked(t, talk(i), question)
				if err == nil && strings.Contains(said, "Wafula") {
					err = fmt.Errorf("node %d says %q", i, said)
				}
				return err
			})
			_, err := documents(t, w.Node(i), holder.Signer).Passages(t.Context(), h.Collection, h.Document, h.Number, 0)
			if refused, ok := errors.AsType[*knowledgeclient.StatusError](err); !ok || refused.Status != http.StatusNotFound {
				t.Errorf("node %d shows the passage: %v", i, err)
			}
		}
	}, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")
}
