package system

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var appKeyText = regexp.MustCompile(`cak_[a-z2-7]{40}`)

// program is what has an app key and an address, and knows nothing else.
type program struct{ header http.Header }

func byBearer(key string) program {
	return program{http.Header{"Authorization": {"Bearer " + key}}}
}

func byPassword(key string) program {
	return program{http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("whoever:"+key))}}}
}

func (p program) get(t *testing.T, n *Node, path string) Reply {
	t.Helper()
	return n.Do(t, Call{Method: http.MethodGet, Path: path, Header: p.header})
}

// TestAppKeys makes an app key by the command line at one node, shows it to all of
// them as programs do, and revokes it at another.
func TestAppKeys(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		mine := filepath.Join(t.TempDir(), "mine.key")
		castalia := func(n *Node, args ...string) string {
			t.Helper()
			text, code := Run(t, []string{"CASTALIA_URL=" + n.URL, "CASTALIA_KEY=" + mine}, args...)
			if code != 0 {
				t.Fatalf("castalia %v: %d %s", args, code, text)
			}
			return text
		}
		castalia(w.Node(0), "key", "new", "--out", mine)
		made := castalia(w.Node(0), "key", "app", "--for", "openwebui", "--can", "oracle", "--can", "files:/docs", "--days", "90", "--tokens", "5000")
		key := appKeyText.FindString(made)
		if key == "" || strings.Count(made, key) != 1 || !strings.Contains(made, "castalia key revoke openwebui") {
			t.Fatalf("castalia key app says\n%s", made)
		}
		programs := map[string]program{"bearer": byBearer(key), "password": byPassword(key)}
		for i, n := range w.Nodes {
			for how, p := range programs {
				var self struct {
					Name, State string
					Scopes      []string
					Left        struct{ Tokens int64 }
				}
				p.get(t, n, "/v1/key").JSON(t, &self)
				if self.Name != "openwebui" || self.State != "active" || self.Left.Tokens != 5000 || strings.Join(self.Scopes, " ") != "files oracle" {
					t.Errorf("by %s at node %d: %+v", how, i, self)
				}
				for _, path := range []string{"/sessions", "/delegation", "/api/keys", "/api/fs/files", "/api/fs/content?path=/docs/a"} {
					if got := p.get(t, n, path); got.Status != http.StatusUnauthorized || !strings.Contains(string(got.Body), "App keys do not open this route") {
						t.Errorf("by %s at %s of node %d: %d %s", how, path, i, got.Status, got.Body)
					}
				}
			}
		}
		if list := castalia(w.Node(1), "key", "apps"); !strings.Contains(list, "openwebui  active  oracle, files:/docs, 5000 of 5000 tokens left") {
			t.Errorf("castalia key apps says\n%s", list)
		}

		// What was acknowledged is there after a crash.
		w.Node(0).Kill()
		w.Node(0).Start()
		w.Node(0).WaitReady()
		if got := byBearer(key).get(t, w.Node(0), "/v1/key"); got.Status != http.StatusOK {
			t.Errorf("after a crash: %d %s", got.Status, got.Body)
		}

		castalia(w.Node(1), "key", "revoke", "openwebui")
		for i, n := range w.Nodes { // at once: nobody waits here
			for how, p := range programs {
				if got := p.get(t, n, "/v1/key"); got.Status != http.StatusUnauthorized || !strings.Contains(string(got.Body), "The app key was revoked.") {
					t.Errorf("revoked, by %s at node %d: %d %s", how, i, got.Status, got.Body)
				}
			}
		}
		if text, code := Run(t, []string{"CASTALIA_URL=" + w.URL(), "CASTALIA_KEY=" + mine}, "key", "revoke", "openwebui"); code != 1 || !strings.Contains(text, `no app key "openwebui" that counts`) {
			t.Errorf("revoked twice: %d %s", code, text)
		}
		again := appKeyText.FindString(castalia(w.Node(0), "key", "app", "--for", "openwebui"))
		if got := byBearer(again).get(t, w.Node(1), "/v1/key"); again == key || got.Status != http.StatusOK {
			t.Errorf("made again: %d %s", got.Status, got.Body)
		}
		for i, n := range w.Nodes {
			if appKeyText.MatchString(n.Log()) {
				t.Errorf("an app key is in the log of node %d", i)
			}
		}
	})
}
