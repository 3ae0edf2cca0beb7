package system

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// archivedTalks is how many conversations are archived.
const archivedTalks = 50

// TestConversationsAreArchivedAndComeBack archives conversations on one node, which is
// killed in the middle of it, and reads and continues them on others.
func TestConversationsAreArchivedAndComeBack(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	Each(t, func(t *testing.T, w *World) {
		who := identitytest.NewActor("archive")
		var talks []*chatter
		before := map[string]any{}
		for i := range archivedTalks {
			c := newChatter(t, w, who)
			c.say(t, w.Node(i), fmt.Sprintf("remember %d", i)).rest(t)
			talks = append(talks, c)
			before[c.session] = transcriptOf(t, c, w.Node(0))
		}
		age(t, w)
		untilArchived(t, w)
		for i, c := range talks {
			if now := transcriptOf(t, c, w.Node(i+1)); cmp.Diff(before[c.session], now) != "" {
				t.Errorf("conversation %d came back as another: %s", i, cmp.Diff(before[c.session], now))
			}
			if i%5 == 0 {
				c.say(t, w.Node(i+2), "go on").rest(t)
				if now := transcriptOf(t, c, w.Node(i)); len(now.(map[string]any)["messages"].([]any)) != 4 {
					t.Errorf("conversation %d did not go on: %v", i, now)
				}
			}
		}
		if left := archivedNow(t, w.Node(1)); left.Conversations != 0 {
			t.Errorf("%+v are still in the archive", left)
		}
	}, append(model.env(), "RETENTION_ARCHIVE=30d")...)
}

func transcriptOf(t *testing.T, c *chatter, n *Node) (out any) {
	t.Helper()
	reply := c.do(t, n, http.MethodGet, "/sessions/"+c.session+"/messages?limit=100", "")
	if reply.Status != http.StatusOK {
		t.Fatalf("transcript: %d %s", reply.Status, reply.Body)
	}
	reply.JSON(t, &out)
	return out
}

// age makes everything old, while nobody runs.
func age(t *testing.T, w *World) {
	t.Helper()
	for _, n := range w.Nodes {
		n.Stop()
	}
	db := w.Database()
	old := sqldb.MS(time.Now().Add(-90 * 24 * time.Hour))
	for _, text := range []string{
		`UPDATE oracle_sessions SET created_ms = created_ms - updated_ms + $1, updated_ms = $1`, `UPDATE oracle_runs SET ended_ms = $1 WHERE ended_ms > 0`,
	} {
		if _, err := db.WriteOne(t.Context(), text, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.Nodes {
		n.Start()
	}
	for _, n := range w.Nodes {
		n.WaitReady()
	}
}

type inArchive struct{ Conversations, Bytes, Stored int64 }

func archivedNow(t *testing.T, n *Node) inArchive {
	t.Helper()
	var said struct{ Archived inArchive }
	n.Get(t, "/operator/retention").JSON(t, &said)
	return said.Archived
}

// untilArchived archives all conversations. The first node is killed when some have gone.
func untilArchived(t *testing.T, w *World) {
	t.Helper()
	killed := false
	Eventually(t, "all conversations are archived", func() error {
		node := w.Node(1)
		if !killed {
			node = w.Node(0)
			asked := make(chan struct{})
			go func() { // it is cut off
				defer close(asked)
				_, _ = node.Try(t.Context(), Call{Method: http.MethodPost, Path: "/operator/retention/archive"})
			}()
			for looking := true; looking; {
				select {
				case <-asked:
					looking = false
				default:
					looking = archivedNow(t, w.Node(1)).Conversations == 0
				}
			}
			if now := archivedNow(t, w.Node(1)); now.Conversations == 0 {
				return fmt.Errorf("nothing is due yet") // the search index reads first, and frames are pruned
			}
			node.Kill()
			<-asked
			killed = true
			node.Start()
			node.WaitReady()
		}
		w.Node(1).Post(t, "/operator/retention/archive", "")
		if now := archivedNow(t, w.Node(1)); now.Conversations != archivedTalks || now.Stored == 0 {
			return fmt.Errorf("%+v", now)
		}
		return nil
	})
}
