package filestorehttp_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// What another namespace holds answers as what nobody holds, word for word: by
// path, by identifier, by CID, in lists and in changes.
func TestProbesOfAForeignNamespaceTellNothing(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	s := newSite(t, w)
	secret := s.put("/secret", "a secret of Alice's\n")
	absent := "00000000-0000-4000-8000-000000000000"
	nobody := "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
	bob := func(method, target, body string) answer {
		return s.do(token(t, identitytest.Bob, "*"), method, target, body)
	}
	for there, nowhere := range map[string]string{
		"GET /api/fs/content?path=/secret":                         "GET /api/fs/content?path=/absent",
		"GET /api/fs/stat?path=/secret":                            "GET /api/fs/stat?path=/absent",
		"GET /api/fs/files/" + secret.ID + "/content":              "GET /api/fs/files/" + absent + "/content",
		"GET /api/fs/files/" + secret.ID + "/versions":             "GET /api/fs/files/" + absent + "/versions",
		"DELETE /api/fs/files/" + secret.ID:                        "DELETE /api/fs/files/" + absent,
		"PATCH /api/fs/files/" + secret.ID + "/public?public=true": "PATCH /api/fs/files/" + absent + "/public?public=true",
		"POST /api/fs/files/" + secret.ID + "/restore":             "POST /api/fs/files/" + absent + "/restore",
		"GET /api/fs/cid/" + secret.CID:                            "GET /api/fs/cid/" + nobody,
		"GET /api/fs/export?path=/secret":                          "GET /api/fs/export?path=/absent",
		"GET /api/fs/tree?path=/secret":                            "GET /api/fs/tree?path=/absent",
		"GET /api/fs/search?q=secret":                              "GET /api/fs/search?q=absent",
		"GET /api/fs/grep?q=" + url.QueryEscape("Alice"):           "GET /api/fs/grep?q=absent",
	} {
		method, target, _ := strings.Cut(there, " ")
		_, other, _ := strings.Cut(nowhere, " ")
		a, b := bob(method, target, ""), bob(method, other, "")
		if a.status != b.status || a.body != b.body {
			t.Errorf("%s: %d %s\n%s: %d %s", there, a.status, a.body, nowhere, b.status, b.body)
		}
		for name := range a.header {
			if strings.HasPrefix(name, "X-Vfs-") && b.header.Get(name) == "" {
				t.Errorf("%s tells %s", there, name)
			}
		}
	}
	for _, list := range []string{"/api/fs/files", "/api/fs/cids", "/api/fs/changes", "/api/fs/audit", "/api/fs/glob?pattern=/**", "/api/fs/trash"} {
		if a := bob("GET", list, ""); strings.Contains(a.body, secret.CID) || strings.Contains(a.body, "/secret") {
			t.Errorf("%s: %s", list, a.body)
		}
	}
	s.own("GET", "/api/fs/content?path=/secret", "").want(200)
}
