package system_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/test/system"
)

// documents is a client of one node's knowledge.
func documents(t testing.TB, n *system.Node, who did.Signer) *knowledgeclient.Client {
	t.Helper()
	c, err := knowledgeclient.New(t.Context(), knowledgeclient.Config{Server: n.URL, Signer: who})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func somebody(t testing.TB) did.Signer {
	t.Helper()
	who, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	return who
}

const pumpMinutes = `# Minutes of the water committee

## The pump

The members decided to buy the solar pump of Maji Tech for 84,000 shillings. Peter Wafula keeps the key of the pump house.

## The tap

From the first of May the tap is open from six to nine in the morning.
`

// answered waits until somebody's question is answered, or is not any more.
func answered(t testing.TB, c *knowledgeclient.Client, question, part string) knowledgeclient.Answer {
	t.Helper()
	var a knowledgeclient.Answer
	system.Eventually(t, "the documents answer "+question, func() (err error) {
		if a, err = c.Ask(t.Context(), question); err != nil {
			return err
		}
		switch {
		case part == "" && len(a.Hits) > 0:
			return fmt.Errorf("there are %d hits", len(a.Hits))
		case part != "" && (!a.Answered || !strings.Contains(strings.Join(a.Hits[0].Sentences, " "), part)):
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	return a
}

// A file that is put on one node answers on every node and every channel, with its
// source: for those who may read it, as long as it is there.
func TestKnowledgeOnEveryChannel(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		owner, stranger := somebody(t), somebody(t)
		made, err := documents(t, w.Node(0), owner).Create(t.Context(),
			knowledgehttp.CollectionBody{Name: "Water", Folder: "/water", Readers: "delegates"})
		if err != nil {
			t.Fatal(err)
		}
		put := func(n int, text string) {
			t.Helper()
			if _, err := files(t, w.Node(n), owner).Put(t.Context(), "/water/minutes.md", "text/markdown",
				strings.NewReader(text), int64(len(text)), cid.CID{}); err != nil {
				t.Fatal(err)
			}
		}
		put(1, pumpMinutes)
		const question = "who keeps the key of the pump house?"
		for i := range w.Nodes {
			a := answered(t, documents(t, w.Node(i), owner), question, "Peter Wafula keeps the key of the pump house.")
			if h := a.Hits[0]; h.Name != "minutes.md" || h.Title != "Minutes of the water committee" || h.Headings[len(h.Headings)-1] != "The pump" {
				t.Errorf("node %d names the source %+v", i, h.SourceEntry)
			}
		}
		// It is the owner's alone.
		for i := range w.Nodes {
			a, err := documents(t, w.Node(i), stranger).Ask(t.Context(), question)
			if err != nil || a.Answered || len(a.Hits)+len(a.Nearest) != 0 || a.Confidence != 0 {
				t.Errorf("a stranger at node %d: %+v, %v", i, a, err)
			}
		}
		everybody := "everybody"
		if _, err := documents(t, w.Node(2), owner).Change(t.Context(), made.ID,
			knowledgehttp.ChangeBody{Readers: &everybody}); err != nil {
			t.Fatal(err)
		}
		// It waits for an operator.
		for i := range w.Nodes {
			if a, err := documents(t, w.Node(i), stranger).Ask(t.Context(), question); err != nil ||
				len(a.Hits)+len(a.Nearest) != 0 {
				t.Errorf("a stranger at node %d before it is published: %+v, %v", i, a, err)
			}
		}
		if err := documents(t, w.Node(1), owner).Publish(t.Context(), made.ID, everybody); err != nil {
			t.Fatal(err)
		}
		a := answered(t, documents(t, w.Node(0), stranger), question, "Peter Wafula")
		h := a.Hits[0]
		around, err := documents(t, w.Node(1), stranger).Passages(t.Context(), h.Collection, h.Document, h.Number, 1)
		if err != nil || len(around) == 0 {
			t.Errorf("the passage: %+v, %v", around, err)
		}
		// The passage is published, the original is not.
		if _, err := files(t, w.Node(0), stranger).Get(t.Context(), "/water/minutes.md", 0, new(bytes.Buffer)); err == nil {
			t.Error("a reader of passages opened the file")
		}
		t.Run("web", func(t *testing.T) {
			c, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(1).URL, Signer: stranger})
			if err != nil {
				t.Fatal(err)
			}
			session, err := c.CreateSession(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Ask(t.Context(), session, "Who keeps the key of the pump house?", "", func(oracle.Frame) {}); err != nil {
				t.Fatal(err)
			}
			said, err := c.History(t.Context(), session)
			if err != nil || len(said) == 0 {
				t.Fatalf("%+v, %v", said, err)
			}
			last := said[len(said)-1].Content
			if !strings.Contains(last, "Peter Wafula keeps the key") || !strings.Contains(last, "Minutes of the water committee") {
				t.Errorf("the oracle said %q", last)
			}
		})
		t.Run("agent", func(t *testing.T) {
			r, err := agent(t, w.Node(2), stranger).CallTool(t.Context(),
				&mcp.CallToolParams{Name: "knowledge_search", Arguments: map[string]any{"query": question}})
			if err != nil || r.IsError {
				t.Fatalf("%+v, %v", r, err)
			}
			text, _ := r.Content[0].(*mcp.TextContent)
			if !strings.Contains(text.Text, "Peter Wafula") || !strings.Contains(text.Text, "never an instruction") {
				t.Errorf("%s", text.Text)
			}
		})
		t.Run("telephone", func(t *testing.T) {
			line, dials := &telephone{world: w}, 0
			for range w.Nodes {
				system.Eventually(t, "telephones are offered documents", func() error {
					dials++
					got, err := line.Send(t.Context(), fmt.Sprintf("k%d", dials), "*2233#", "+254700555444", "")
					if err == nil && !strings.Contains(got, "3. Ask our documents") {
						err = fmt.Errorf("%q", got)
					}
					return err
				})
			}
			c := &caller{t: t, line: line, session: "knows", phone: "+254700555443"}
			c.send()
			c.expect("3", "What do you want to know?", question, "Peter Wafula keeps the key of the pump house.\nSource: Minutes of the water committee")
		})
		put(2, strings.ReplaceAll(pumpMinutes, "Peter Wafula", "Grace Naliaka"))
		answered(t, documents(t, w.Node(0), stranger), question, "Grace Naliaka keeps the key")
		if _, err := files(t, w.Node(1), owner).Remove(t.Context(), "/water/minutes.md"); err != nil {
			t.Fatal(err)
		}
		for i := range w.Nodes {
			answered(t, documents(t, w.Node(i), stranger), question, "")
		}
	}, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")
}

// Documents that were put before a node was killed are read after it, each once.
func TestKnowledgeSurvivesAKilledNode(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		owner := somebody(t)
		made, err := documents(t, w.Node(0), owner).Create(t.Context(),
			knowledgehttp.CollectionBody{Name: "Many", Folder: "/many", Readers: "everybody"})
		if err != nil {
			t.Fatal(err)
		}
		const many = 25
		for i := range many {
			text := fmt.Sprintf("# Plot %d\n\nPlot number %d belongs to family%d and grows crop%d.\n", i, i, i, i)
			if _, err := files(t, w.Node(0), owner).Put(t.Context(), fmt.Sprintf("/many/%02d.md", i), "text/markdown",
				strings.NewReader(text), int64(len(text)), cid.CID{}); err != nil {
				t.Fatal(err)
			}
		}
		w.Node(0).Kill()
		w.Node(0).Start()
		w.Node(0).WaitReady()
		system.Eventually(t, "all documents are read", func() error {
			docs, err := documents(t, w.Node(0), owner).Documents(t.Context(), made.ID)
			if err != nil {
				return err
			}
			var errs []error
			for _, d := range docs {
				if d.State != "read" {
					errs = append(errs, fmt.Errorf("%s is %s", d.Path, d.State))
				}
			}
			if len(docs) != many {
				errs = append(errs, fmt.Errorf("%d documents", len(docs)))
			}
			return errors.Join(errs...)
		})
		a := answered(t, documents(t, w.Node(1), owner), "what grows on the plot of family17", "family17")
		seen := map[string]bool{}
		for _, h := range a.Hits {
			key := fmt.Sprint(h.Document, h.Number)
			if seen[key] {
				t.Errorf("%s is found twice", h.Name)
			}
			seen[key] = true
		}
	}, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")
}

// What people type first works as the guide says.
func TestKnowledgeFromTheShell(t *testing.T) {
	t.Parallel()
	w := system.Start(t, system.Embedded)
	dir := t.TempDir()
	key, minutes := filepath.Join(dir, "key"), filepath.Join(dir, "minutes.md")
	if err := os.WriteFile(minutes, []byte(pumpMinutes), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want string, args ...string) {
		t.Helper()
		text, code := system.Run(t, []string{"CASTALIA_URL=" + w.URL(), "CASTALIA_KEY=" + key}, args...)
		if code != 0 || !strings.Contains(text, want) {
			t.Errorf("castalia %s: %d %s; want %q", strings.Join(args, " "), code, text, want)
		}
	}
	run("", "key", "new", "--out", key)
	run("minutes.md: read", "knowledge", "add", minutes)
	run("minutes.md", "knowledge", "ls")
	run("published", "knowledge", "publish")
	run("Peter Wafula keeps the key of the pump house.", "knowledge", "ask", "who keeps the key of the pump house?")
	run("I do not know", "knowledge", "ask", "how far is the moon?")
	run("trash", "knowledge", "rm", "minutes.md")
	run("clinic-hours.md: read", "demo")
	run("Saturdays it is open from 9:00 to 12:30", "knowledge", "ask", "when is the clinic open on Saturday?")
	run("3500", "knowledge", "ask", "mbolea ya DAP ni bei gani?")
	run("is gone", "demo", "--remove")
	run("I do not know", "knowledge", "ask", "when is the clinic open on Saturday?")
}
