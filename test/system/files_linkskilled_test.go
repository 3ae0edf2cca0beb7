package system_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/test/system"
)

// Killed at any point while strangers use links: what was acknowledged is there, nothing
// is there by half, a link for uploads has counted exactly what came by it, and one for
// downloads every download that began and no more than it is good for.
func TestKilledWhileLinksAreUsed(t *testing.T) {
	t.Parallel()
	points := killPoints()
	system.Each(t, func(t *testing.T, w *system.World) {
		n := w.Node(0)
		who, err := did.NewSigner()
		if err != nil {
			t.Fatal(err)
		}
		content := randomBytes(2<<20+5, 99)
		mine := files(t, w.Node(1), who)
		if _, err := mine.Put(t.Context(), "/out.bin", "application/octet-stream", bytes.NewReader(content),
			int64(len(content)), cidOf(t, content)); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(time.Hour)
		in, err := mine.ShareForUploads(t.Context(), "/in", until, 1<<30, int64(points))
		if err != nil {
			t.Fatal(err)
		}
		uses := int64(2*points + 1)
		out, err := mine.SharePlainly(t.Context(), "/out.bin", until, uses)
		if err != nil {
			t.Fatal(err)
		}
		path := func(link string) string { return strings.TrimSuffix(link[strings.Index(link, "/s/"):], "/") }
		sent, acknowledged := map[string][]byte{}, map[string]bool{}
		begun, whole := int64(0), int64(0)
		restart := func() {
			t.Helper()
			n.Start()
			n.WaitReady()
		}
		for i := range points {
			name, data := fmt.Sprintf("%03d.bin", i), randomBytes(2<<20+i, byte(i))
			sent[name] = data
			body := &killing{r: bytes.NewReader(data), at: rand.Int64N(int64(len(data)) + 200_000), kill: n.Kill}
			acknowledged[name] = put(t, w, n.URL+path(in.URL)+"/"+name, body, int64(len(data)))
			body.once(n.Kill)
			restart()

			// A download ends with its node, and begins anew at any.
			kill := &killing{at: rand.Int64N(int64(len(content)) + 200_000), kill: n.Kill}
			got, err := download(t.Context(), w, n.URL+path(out.URL), kill)
			kill.once(n.Kill)
			if !bytes.HasPrefix(content, got) || err == nil && len(got) != len(content) {
				t.Fatalf("point %d: %d bytes that are not the file's, %v", i, len(got), err)
			}
			if begun++; err == nil {
				whole++
			}
			restart()
			got, err = download(t.Context(), w, w.Node(1).URL+path(out.URL), &killing{at: 1 << 40})
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("point %d: %d bytes, %v", i, len(got), err)
			}
			begun, whole = begun+1, whole+1
		}
		arrived, err := mine.Tree(t.Context(), "/in")
		if err != nil && len(arrived) > 0 {
			t.Fatal(err)
		}
		total := int64(0)
		for _, f := range arrived {
			var got bytes.Buffer
			if _, err := mine.Get(t.Context(), f.Path, 0, &got); err != nil || !bytes.Equal(got.Bytes(), sent[f.Name]) {
				t.Errorf("%s has %d bytes of %d, %v", f.Name, got.Len(), len(sent[f.Name]), err)
			}
			total += int64(got.Len())
			delete(acknowledged, f.Name)
		}
		for name, told := range acknowledged {
			if told {
				t.Errorf("%s was acknowledged and is gone", name)
			}
		}
		links, err := mine.Shares(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			switch {
			case l.Upload && (l.Uses != int64(len(arrived)) || l.Bytes != total):
				t.Errorf("by the link came %d files of %d bytes, there are %d of %d", l.Uses, l.Bytes, len(arrived), total)
			case !l.Upload && (l.Uses < whole || l.Uses > begun):
				t.Errorf("%d downloads were counted, %d began and %d were whole", l.Uses, begun, whole)
			}
		}
		wholeAfter(t, w)
	})
}

// put sends a body and reports whether it was acknowledged.
func put(t *testing.T, w *system.World, target string, body io.Reader, size int64) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = size
	answer, err := w.Client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusCreated
}

// download reads what is at an address, while something counts the bytes.
func download(ctx context.Context, w *system.World, target string, count *killing) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := w.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	count.r = answer.Body
	b, err := io.ReadAll(count)
	if err == nil && answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", answer.StatusCode, b)
	}
	return b, err
}
