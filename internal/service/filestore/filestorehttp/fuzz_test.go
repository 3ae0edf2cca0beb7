package filestorehttp

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

func FuzzUploadMetadata(f *testing.F) {
	f.Add("path " + base64.StdEncoding.EncodeToString([]byte("/a")) + ",overwrite")
	for _, seed := range []string{"", ",", "path", "path !", "path a b", strings.Repeat("k dg==,", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := uploadMetadata(text)
		if err != nil {
			return
		}
		for name, value := range m {
			if len(value) > len(text) || strings.ContainsAny(name, " ,") {
				t.Errorf("%q: %q", name, value)
			}
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "999999999999999999999", "1e3", " 1", "+1", "0x10"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.NewRequest(http.MethodGet, "/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q := r.URL.Query()
		q.Set("limit", text)
		r.URL.RawQuery = q.Encode()
		if n, err := number(r, "limit", 0, 50, 200); err == nil && (n < 0 || n > 200) {
			t.Errorf("%q is %d", text, n)
		}
	})
}
