package contenthttp

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func FuzzTags(f *testing.F) {
	for _, seed := range []string{``, `*`, `"a"`, `W/"a", "b"`, `"`, `""`, `"a" "b"`, strings.Repeat(`"x",`, 200)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _, err := tags([]string{text})
		if err == nil && len(list) > 100 {
			t.Errorf("%d tags were taken", len(list))
		}
		for _, tag := range list {
			if strings.Contains(tag, ",") {
				t.Errorf("tag %q", tag)
			}
		}
	})
}

// What is left of a Range header is a few ranges of the content that cover what
// was asked for, and nothing that was not.
func FuzzRanges(f *testing.F) {
	for _, seed := range []string{
		"bytes=0-0", "bytes=5-2", "bytes=-3", "bytes=-0", "bytes=0-,0-", "Bytes = 1-2 , ,4-", "lines=1-2", "bytes", "bytes=", "bytes=9999999999999999999-",
		"bytes=+1-2", "bytes=3-4,1-2,2-3", "bytes=" + strings.Repeat("1-1,3-3,", 100),
	} {
		f.Add(seed, int64(100))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 || size > 1<<10 {
			return
		}
		plain := plainRanges(header, size)
		if plain == header || plain == "" {
			return
		}
		sent := rangeSet(t, plain, size)
		asked := map[int64]bool{}
		for spec := range strings.SplitSeq(header[strings.IndexByte(header, '=')+1:], ",") {
			r, exists, ok := parseRange(strings.Trim(spec, " \t"), size)
			for i := r.first; ok && exists && i <= r.last; i++ {
				asked[i] = true
			}
		}
		if !maps.Equal(asked, sent) {
			t.Fatalf("%q of %d became %q", header, size, plain)
		}
	})
}

// rangeSet is the bytes of a header that was written anew; each occurs once.
func rangeSet(t *testing.T, plain string, size int64) map[int64]bool {
	t.Helper()
	sent := map[int64]bool{}
	specs := strings.Split(strings.TrimPrefix(plain, "bytes="), ",")
	if len(specs) > maxRangesSent {
		t.Fatalf("%d ranges", len(specs))
	}
	for _, spec := range specs {
		var first, last int64
		if _, err := fmt.Sscanf(spec, "%d-%d", &first, &last); err != nil || first < 0 || last < first || last >= size {
			t.Fatalf("range %q of %d bytes, %v", spec, size, err)
		}
		for i := first; i <= last; i++ {
			if sent[i] {
				t.Fatalf("%q has %d twice", plain, i)
			}
			sent[i] = true
		}
	}
	return sent
}
