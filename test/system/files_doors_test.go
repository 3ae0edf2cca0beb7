package system_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/test/system"
)

// Every door behaves the same in both shapes, when each step goes to the next
// node: REST, agents' tools, the command line.
func TestFilesThroughEveryDoor(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		t.Run("rest", func(t *testing.T) {
			who, next := signer(t), nodes(w)
			filestoretest.Behaviour(t, filestoretest.Rest{T: t, Next: func() *filestoreclient.Client {
				return files(t, next(), who)
			}})
		})
		t.Run("mcp", func(t *testing.T) {
			who, next := signer(t), nodes(w)
			filestoretest.Behaviour(t, filestoretest.Agent{T: t, Next: func() *mcp.ClientSession {
				return agent(t, next(), who)
			}})
		})
		t.Run("shell", func(t *testing.T) { filestoretest.Behaviour(t, newShell(t, w)) })
	})
}

func signer(t *testing.T) did.Signer {
	t.Helper()
	s, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nodes gives one node after the other.
func nodes(w *system.World) func() *system.Node {
	i := -1
	return func() *system.Node { i++; return w.Node(i) }
}

// agent is an MCP client of one node, as somebody with a key.
func agent(t *testing.T, n *system.Node, who did.Signer) *mcp.ClientSession {
	t.Helper()
	token, err := files(t, n, who).Token(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint: n.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}, DisableStandaloneSSE: true,
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// bearer adds a token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// shell is the door of `castalia fs`.
type shell struct {
	t    *testing.T
	w    *system.World
	key  string
	next *atomic.Int64
}

func newShell(t *testing.T, w *system.World) shell {
	t.Helper()
	key := filepath.Join(t.TempDir(), "me.key")
	if text, code := system.Run(t, nil, "key", "new", "--out", key); code != 0 {
		t.Fatalf("key new: exit %d\n%s", code, text)
	}
	return shell{t, w, key, new(atomic.Int64)}
}

// fs runs a command at the next node.
func (s shell) fs(args ...string) (string, error) {
	s.t.Helper()
	node := s.w.Node(int(s.next.Add(1)))
	text, code := system.Run(s.t, nil, append([]string{"fs", args[0], "--server", node.URL, "--key", s.key}, args[1:]...)...)
	if code != 0 {
		return "", fmt.Errorf("castalia fs %v: exit %d: %s", args, code, text)
	}
	return text, nil
}

func (s shell) put(path, text string, flags ...string) (string, error) {
	local := filepath.Join(s.t.TempDir(), "local")
	if err := os.WriteFile(local, []byte(text), 0o600); err != nil {
		return "", err
	}
	out, err := s.fs(append(append([]string{"put"}, flags...), local, path)...)
	cid, _, _ := strings.Cut(out, " ")
	return cid, err
}

func (s shell) Create(path, text string) (string, error)  { return s.put(path, text, "--new") }
func (s shell) Replace(path, text string) (string, error) { return s.put(path, text) }
func (s shell) Read(path string) (string, error)          { return s.fs("cat", path) }

func (s shell) Edit(path, old, replacement string) error {
	text, err := s.Read(path)
	if err != nil {
		return err
	}
	if !strings.Contains(text, old) {
		return errors.New("not there")
	}
	_, err = s.put(path, strings.Replace(text, old, replacement, 1))
	return err
}

func (s shell) Move(from, to string) error {
	_, err := s.fs("mv", from, to)
	return err
}

func (s shell) Remove(path string) error {
	_, err := s.fs("rm", path)
	return err
}

func (s shell) Children(folder string) ([]string, error) {
	out, err := s.fs("ls", folder)
	var names []string
	for line := range strings.Lines(out) {
		names = append(names, folder+"/"+strings.Fields(line)[0])
	}
	return names, err
}

func (s shell) Versions(path string) (int, error) {
	out, err := s.fs("versions", path)
	return strings.Count(out, "bafk"), err
}
