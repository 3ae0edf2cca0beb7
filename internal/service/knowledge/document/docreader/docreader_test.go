package docreader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/docreader"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/documenttest"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/formats"
)

// The tests' own program is also the one that reads documents apart.
const readDocument = "read-document"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == readDocument {
		all := formats.All().With(
			document.Format{Name: "evil", Extensions: []string{".evil"}, Parser: evil{}},
		)
		os.Exit(docreader.Serve(all, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// evil does what no recover helps against.
type evil struct{}

func (evil) Parse(src document.Source, to *document.Builder) error {
	switch string(src.Data) {
	case "memory":
		var all [][]byte
		for {
			all = append(all, make([]byte, 16<<20))
			for i := 0; i < 16<<20; i += 4096 {
				all[len(all)-1][i] = 1
			}
		}
	case "stack":
		var down func(n int) int
		down = func(n int) int { return down(n+1) + n }
		return fmt.Errorf("%d", down(0))
	case "output":
		for range 90_000 {
			_ = to.Paragraph(strings.Repeat("\"", 700), document.Place{})
		}
	case "environment":
		return to.Paragraph(strings.Join(os.Environ(), " "), document.Place{})
	case "hang":
		select {}
	case "bug":
		return errors.New("a secret of the program")
	}
	return nil
}

func reader() *docreader.Reader { return docreader.New(os.Args[0], readDocument) }

// circular is a PDF whose pages are in an object stream that is in itself.
func circular() []byte {
	body := "%PDF-1.5\n1 0 obj\n<</Type/Catalog/Pages 5 0 R>>\nendobj\n"
	at := len(body)
	row := func(kind byte, where int) string { return string([]byte{kind, byte(where >> 8), byte(where), 0}) }
	rows := row(0, 0) + row(1, 9) + row(0, 0) + row(0, 0) + row(1, at) + row(2, 5)
	return fmt.Appendf(nil, "%s4 0 obj\n<</Type/XRef/Size 6/W[1 2 1]/Root 1 0 R/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		body, len(rows), rows, at)
}

// What is read apart is what would be read here.
func TestADocumentIsTheSameApart(t *testing.T) {
	t.Parallel()
	src := document.Source{Name: "prices.xlsx", Data: documenttest.Excel([]string{"Crop &lt;b&gt;", "Price"},
		documenttest.Sheet{Name: "Maize \u2028 &amp; co", Rows: `<row r="1"><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row r="2"><c><v>1</v></c><c><v>2</v></c></row>`})}
	want, err := docreader.Here{Formats: formats.All()}.Read(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader().Read(t.Context(), src)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// However a document ends its reader, it is a problem of the document alone.
func TestADocumentHarmsNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		data []byte
		want document.Problem
	}{
		{"a.pdf", circular(), "the document is damaged"},
		{"a.evil", []byte("stack"), "the document is damaged"},
		{"a.evil", []byte("memory"), "the document takes too much memory to read"},
		{"a.evil", []byte("output"), "the document takes too much memory to read"},
		{"a.evil", []byte("bug"), "the document is damaged"},
		{"a.md", []byte("# Mine\n-----BEGIN PRIVATE KEY-----\nMC4C\n"), document.ErrSecret},
		{"a.txt", []byte(strings.Repeat("0f", 32)), document.ErrSecret},
		{"a.html", []byte("<html><body><p>Mine</p><pre>-----BEGIN PRIVATE KEY-----\nMC4C\n</pre></body></html>"), document.ErrSecret},
		{"a.bin", []byte{0, 1}, "files of this kind cannot be read as text"},
		{"a.txt", make([]byte, docreader.MaxDocument+1), "the document is larger than 64 MB"},
	} {
		_, err := reader().ReadWithin(t.Context(), document.Source{Name: c.name, Data: c.data},
			document.Limits{Text: 100 << 20})
		if !errors.Is(err, c.want) {
			t.Errorf("%s %.10q: %v, want %v", c.name, c.data, err, c.want)
		}
	}
}

// Whoever reads documents knows none of the operator's secrets.
func TestDocumentsAreReadWithoutTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "hush")
	doc, err := reader().Read(t.Context(), document.Source{Name: "a.evil", Data: []byte("environment")})
	if err != nil || strings.Contains(doc.Text(), "hush") || !strings.Contains(doc.Text(), "GOMAXPROCS") {
		t.Errorf("it has %+v, %v", doc, err)
	}
}

// A context that ends is no fault of the document.
func TestACancelledReadIsNotTheDocumentsFault(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := reader().Read(ctx, document.Source{Name: "a.txt", Data: []byte("x")})
	if _, told := errors.AsType[document.Problem](err); !errors.Is(err, context.Canceled) || told {
		t.Errorf("it failed with %v", err)
	}
}

// A server that cannot start programs says so as its own failure.
func TestAProgramThatIsMissingIsNotTheDocumentsFault(t *testing.T) {
	t.Parallel()
	_, err := docreader.New("/nowhere/castalia", readDocument).Read(t.Context(), document.Source{Name: "a.txt", Data: []byte("x")})
	if _, told := errors.AsType[document.Problem](err); err == nil || told {
		t.Errorf("it failed with %v", err)
	}
}

// The text of an attachment is cut behind its limit, and problems may be shown.
func TestText(t *testing.T) {
	t.Parallel()
	long := documenttest.PDF(documenttest.Line("F1", 11, 72, 700, strings.Repeat("x", 300)))
	text, err := reader().Text(t.Context(), "alice", long, 100)
	if err != nil || text != strings.Repeat("x", 200) {
		t.Errorf("it is %q, %v", text, err)
	}
	_, err = reader().Text(t.Context(), "alice", circular(), 100)
	if e := fault.From(err); e.Kind != fault.Invalid || e.Message != "the document is damaged" {
		t.Errorf("it failed with %v", err)
	}
	var none *docreader.Reader
	if _, err := none.Text(t.Context(), "alice", long, 100); fault.KindOf(err) != fault.Invalid {
		t.Errorf("none failed with %v", err)
	}
}

// BenchmarkApart is what a small document costs in a process of its own.
func BenchmarkApart(b *testing.B) {
	src := document.Source{Name: "a.txt", Data: []byte("Open from eight.")}
	for b.Loop() {
		if _, err := reader().Read(b.Context(), src); err != nil {
			b.Fatal(err)
		}
	}
}

// Documents that nobody waits for do not stand before those that somebody waits for,
// however long they take.
func TestSlowDocumentsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	r := reader()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var slow sync.WaitGroup
	for range r.Places() + 1 {
		slow.Go(func() {
			if _, err := r.Read(ctx, document.Source{Name: "a.evil", Data: []byte("hang")}); !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	for range 20 { // whichever of them have begun by now
		text, err := r.Text(t.Context(), "alice", []byte("A short text, and nothing else."), 100)
		if err != nil || !strings.Contains(text, "short") {
			t.Fatalf("%q, %v", text, err)
		}
	}
	cancel()
	slow.Wait()
}

// Somebody looks at the beginning of a document, and at a picture made small.
func TestLook(t *testing.T) {
	t.Parallel()
	r := reader()
	with := func(data []byte) func() ([]byte, error) { return func() ([]byte, error) { return data, nil } }
	rows := strings.Repeat("maize,12\n", 5000)
	out, err := r.Look(t.Context(), "me", "prices.csv", "text/csv", with([]byte("crop,price\n"+rows)))
	var doc document.Document
	if err != nil || json.Unmarshal(out, &doc) != nil || len(doc.Blocks) == 0 || len(doc.Blocks[0].Rows) > 501 {
		t.Errorf("a table: %.200s, %v", out, err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 300, 100))); err != nil {
		t.Fatal(err)
	}
	small, err := r.Thumbnail(t.Context(), "me", 30, with(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := jpeg.DecodeConfig(bytes.NewReader(small)); err != nil || c.Width != 30 || c.Height != 10 {
		t.Errorf("a picture: %v, %v", c, err)
	}
	for name, open := range map[string]func() ([]byte, error){
		"no picture": with([]byte("<svg/>")), "half": with(b.Bytes()[:60]),
		"refused": func() ([]byte, error) { return nil, fault.New(fault.Invalid, "it is closed") },
	} {
		if _, err := r.Thumbnail(t.Context(), "me", 30, open); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (*docreader.Reader)(nil).Look(t.Context(), "me", "", "", nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("no reader: %v", err)
	}
}
