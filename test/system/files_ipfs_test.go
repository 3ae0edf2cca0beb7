package system_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/car"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/test/system"
)

// An archive is imported at one node, and another serves its blocks to who has an app
// key for them, until that is revoked at a third place.
func TestArchivesAndBlocksOnAnyNode(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		dir := t.TempDir()
		mine := filepath.Join(dir, "mine.key")
		castalia := func(n *system.Node, args ...string) string {
			t.Helper()
			text, code := system.Run(t, []string{"CASTALIA_URL=" + n.URL, "CASTALIA_KEY=" + mine}, args...)
			if code != 0 {
				t.Fatalf("castalia %v: %d %s", args, code, text)
			}
			return text
		}
		content := randomBytes(2<<20+9, 23)
		local, archive := filepath.Join(dir, "data.bin"), filepath.Join(dir, "all.car")
		if err := os.WriteFile(local, content, 0o600); err != nil {
			t.Fatal(err)
		}
		castalia(w.Node(0), "key", "new", "--out", mine)
		castalia(w.Node(0), "fs", "put", local, "/a/data.bin")
		castalia(w.Node(1), "fs", "export", "/a", archive)
		castalia(w.Node(0), "fs", "import", archive, "/b")
		if got := castalia(w.Node(1), "fs", "cat", "/b/data.bin"); got != string(content) {
			t.Errorf("what came out of the archive has %d bytes", len(got))
		}

		key := davKey.FindString(castalia(w.Node(0), "key", "app", "--for", "ipfs", "--can", "files:/b", "--days", "1"))
		block := func(n *system.Node) system.Reply {
			second := cidOf(t, content[cid.LeafSize:2*cid.LeafSize])
			return n.Do(t, system.Call{
				Method: http.MethodGet, Path: "/ipfs/" + second.String() + "?format=raw",
				Header: http.Header{"Authorization": {"Bearer " + key}},
			})
		}
		for i, n := range w.Nodes {
			if got := block(n); got.Status != http.StatusOK || !bytes.Equal(got.Body, content[cid.LeafSize:2*cid.LeafSize]) {
				t.Errorf("a leaf at node %d: %d", i, got.Status)
			}
			whole := n.Do(t, system.Call{
				Method: http.MethodGet, Path: "/ipfs/" + cidOf(t, content).String() + "?format=car",
				Header: http.Header{"Authorization": {"Bearer " + key}},
			})
			if a, err := car.Read(string(whole.Body), 100); err != nil || len(a.Blocks) != 4 {
				t.Errorf("the file at node %d: %d %v", i, whole.Status, err)
			}
			if got := n.Get(t, "/ipfs/"+cidOf(t, content).String()+"?format=car"); got.Status != http.StatusNotFound {
				t.Errorf("without a key at node %d: %d", i, got.Status)
			}
		}
		castalia(w.Node(1), "key", "revoke", "ipfs")
		for i, n := range w.Nodes {
			if got := block(n); got.Status != http.StatusUnauthorized || !strings.Contains(string(got.Body), "revoked") {
				t.Errorf("revoked, at node %d: %d %s", i, got.Status, got.Body)
			}
		}
	})
}
