package attachments_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
)

// The tests' own program is also the one that reads documents apart.
const (
	readDocument = "read-document"
	hang         = "hang"
	showEnv      = "show-environment"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case readDocument:
		os.Exit(attachments.ReadDocument(os.Stdin, os.Stdout, 100))
	case hang:
		select {}
	case showEnv:
		fmt.Print(strings.Join(os.Environ(), "\n"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func apart(ctx context.Context, data []byte, limit int) (string, error) {
	return attachments.Apart(os.Args[0], readDocument)(ctx, data, limit)
}

// circular is a document whose pages are in an object stream that is in itself.
func circular() []byte {
	body := "%PDF-1.5\n1 0 obj\n<</Type/Catalog/Pages 5 0 R>>\nendobj\n"
	at := len(body)
	row := func(kind byte, where int) string { return string([]byte{kind, byte(where >> 8), byte(where), 0}) }
	rows := row(0, 0) + row(1, 9) + row(0, 0) + row(0, 0) + row(1, at) + row(2, 5)
	return fmt.Appendf(nil, "%s4 0 obj\n<</Type/XRef/Size 6/W[1 2 1]/Root 1 0 R/Length %d>>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		body, len(rows), rows, at)
}

// A document that leads its reader in circles is damaged, and nothing more.
func TestADocumentHarmsNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"good":     {pdf("Bees dance"), "Bees dance"},
		"circular": {circular(), "the document is damaged"},
		"no PDF":   {[]byte("%PDF-1.4 and no more"), "the document is damaged or locked"},
		"empty":    {nil, "the document is damaged or locked"},
		"no text":  {pdf(""), "the document holds no text"},
		"long":     {pdf(strings.Repeat("x", 300)), strings.Repeat("x", 200)},
	} {
		text, err := apart(t.Context(), c.data, 100)
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// A reader that does not come to an end is ended.
func TestADocumentTakesNotForEver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := attachments.Apart(os.Args[0], hang)(ctx, nil, 100)
	if err == nil || err.Error() != "the document takes too long to read" {
		t.Errorf("it ended with %v", err)
	}
}

// Whoever reads documents knows none of the operator's secrets.
func TestDocumentsAreReadWithoutTheEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "hush")
	env, err := attachments.Apart(os.Args[0], showEnv)(t.Context(), nil, 1000)
	if err != nil || strings.Contains(env, "hush") || !strings.Contains(env, "GOMAXPROCS") {
		t.Errorf("it has %q, %v", env, err)
	}
}
