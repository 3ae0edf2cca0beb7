package replica

import (
	"bytes"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/archive"
)

// Names in a bucket are whatever whoever can write there chose.
func FuzzNames(f *testing.F) {
	f.Add(placeName(logFolder, 1, 2, 3))
	f.Add(placeName(baseFolder, 1, 2, 3))
	f.Add(startName(7))
	f.Add("log/-1/+2-3.age")
	f.Fuzz(func(t *testing.T, name string) {
		var all []place
		for _, folder := range []string{logFolder, baseFolder} {
			if p, ok := parsePlace(name, folder); ok {
				again, _ := parsePlace(placeName(folder, p.Generation, p.Seq, p.Made.UnixMilli()), folder)
				again.Name = p.Name
				if p.Generation >= 0 && p.Seq >= 0 && p.Made.UnixMilli() >= 0 && again != p {
					t.Errorf("%q is %+v, and again %+v", name, p, again)
				}
				all = append(all, p)
			}
		}
		if g, ok := parseStart(name); ok && g >= 0 {
			if again, ok := parseStart(startName(g)); !ok || again != g {
				t.Errorf("%q is generation %d, and again %d", name, g, again)
			}
		}
		new(Status).reach(all)
	})
}

// What was decrypted is not to be believed either: keys are lent.
func FuzzPieces(f *testing.F) {
	var text bytes.Buffer
	h := head{Generation: 1, Seq: 1, PageSize: 512, Size: 1, Pages: 1}
	if err := writeJSON(&text, h); err != nil {
		f.Fatal(err)
	}
	if err := writePages(&text, []uint32{1}, 512, func(uint32, []byte) error { return nil }); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bytes.NewReader(text)
		var h head
		if readJSON(in, &h) != nil {
			return
		}
		n := 0
		err := readPages(in, h, func(number uint32, body []byte) error {
			if n++; number == 0 || len(body) != int(h.PageSize) || n > len(text) {
				t.Fatalf("page %d of %d bytes", number, len(body))
			}
			return nil
		})
		if err == nil && n != h.Pages {
			t.Errorf("%d pages, %d were named", n, h.Pages)
		}
	})
}

// Whatever follows or replaces the text of a start, it counts as signed only as it was.
func FuzzStarts(f *testing.F) {
	var text bytes.Buffer
	if err := writeJSON(&text, start{Format: format, Generation: 1}); err != nil {
		f.Fatal(err)
	}
	signed := bytes.Clone(text.Bytes())
	f.Add(signed)
	oracle := newSigner("oracle")
	if err := writeJSON(&text, signature{oracle.Name, oracle.Sign(append([]byte(signedAs), signed...))}); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := (&Wanted{Author: archive.Author{Verify: verify}}).openStart(bytes.NewReader(text))
		if err == nil && s.by == oracle.Name && !bytes.HasPrefix(text, signed) {
			t.Errorf("%q counts as signed", text)
		}
	})
}
