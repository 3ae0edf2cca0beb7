package system

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// document is an operator's document as a node has it in force.
type document struct {
	Text, Source, Where, Problem string
	ReadOnly                     bool
	Newest                       int64
}

func (n *Node) document(t *testing.T, name string) (d document) {
	t.Helper()
	n.Get(t, "/operator/documents/"+name).JSON(t, &d)
	return d
}

func (n *Node) writeDocument(t *testing.T, name, text string) Reply {
	t.Helper()
	return n.Do(t, Call{
		Method: http.MethodPut, Path: "/operator/documents/" + name, Body: fmt.Sprintf(`{"text":%q}`, text),
		Header: http.Header{"Content-Type": {"application/json"}, "If-Match": {fmt.Sprintf("%q", fmt.Sprint(n.document(t, name).Newest))}},
	})
}

// TestDocumentsAreInForceOnEveryNode writes instructions on one node: the others
// tell them to their models.
func TestDocumentsAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	Each(t, func(t *testing.T, w *World) {
		for i, text := range []string{"Speak of herons.", "Speak of storks."} {
			if reply := w.Node(i).writeDocument(t, "instructions", text); reply.Status != http.StatusOK {
				t.Fatalf("write on node %d: %d %s", i, reply.Status, reply.Body)
			}
			for n := range w.Nodes {
				Eventually(t, fmt.Sprintf("node %d has %q", n, text), func() error {
					if d := w.Node(n).document(t, "instructions"); d.Text != text || d.Source != "database" || d.ReadOnly {
						return fmt.Errorf("it has %+v", d)
					}
					return nil
				})
			}
			alice := newChatter(t, w, identitytest.NewActor(fmt.Sprint("documents ", i)))
			message := "hello from " + alice.session
			alice.say(t, w.Node(i+1), message).rest(t)
			if sent := model.last(message); !strings.Contains(sent, text) {
				t.Errorf("the model of another node was told: %s", sent)
			}
		}
	}, model.env()...)
}

// TestWhichDocumentRules has the same document in all places: the environment rules
// over a file, a file over the database, and what is stored is back when they are
// gone. Where they rule, a write is refused in words that name them.
func TestWhichDocumentRules(t *testing.T) {
	t.Parallel()
	models := func(id string) string {
		return fmt.Sprintf("endpoints: {guide: {kind: guide}}\nmodels: [{id: %s, endpoint: guide}]", id)
	}
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			w := Prepare(t, shape)
			usual, dir := w.Env, t.TempDir()
			documents := []struct{ name, variable, outside, file, stored string }{
				{"instructions", "ORACLE_INSTRUCTIONS", "By the environment.", "By the file.", "By the database."},
				{"models", "MODELS", models("outside"), models("file"), models("stored")},
			}
			var inFile, outside []string
			for _, d := range documents {
				path := filepath.Join(dir, d.name)
				if err := os.WriteFile(path, []byte(d.file), 0o600); err != nil {
					t.Fatal(err)
				}
				inFile = append(inFile, d.variable+"_FILE="+path)
				outside = append(outside, d.variable+"="+d.outside)
			}
			for round, env := range [][]string{nil, nil, inFile, append(outside, inFile...), nil} {
				w.Env = append(append([]string(nil), usual...), env...)
				n := w.Node(round)
				n.Start()
				n.WaitReady()
				for _, d := range documents {
					if round == 0 {
						if reply := n.writeDocument(t, d.name, d.stored); reply.Status != http.StatusOK {
							t.Fatalf("write: %d %s", reply.Status, reply.Body)
						}
					}
					path := filepath.Join(dir, d.name)
					text, source, where, refusal := d.stored, "database", "", ""
					switch round {
					case 2:
						text, source, where = d.file, "file", path
						refusal = fmt.Sprintf("The document %q comes from the file %s (%s_FILE) and cannot be changed here: change the file", d.name, path, d.variable)
					case 3:
						text, source, where = d.outside, "environment", d.variable
						refusal = fmt.Sprintf("The document %q is set by the variable %s of the server and cannot be changed here: unset it first", d.name, d.variable)
					}
					got := n.document(t, d.name)
					if got.Text != text || got.Source != source || got.Where != where || got.ReadOnly != (refusal != "") ||
						got.Problem != "" {
						t.Errorf("round %d: %+v, want %q from the %s", round, got, text, source)
					}
					reply := n.writeDocument(t, d.name, d.stored)
					var said struct{ Message string }
					if reply.JSON(t, &said); refusal != "" && (reply.Status != http.StatusConflict || said.Message != refusal) ||
						refusal == "" && reply.Status != http.StatusOK {
						t.Errorf("round %d: a write of %s: %d %s", round, d.name, reply.Status, reply.Body)
					}
				}
				n.Stop()
			}
		})
	}
}
