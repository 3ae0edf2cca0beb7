package filestorehttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// looks says what it was given. A file that says PNG becomes one.
type looks struct{}

func (looks) Look(_ context.Context, owner, name, mediaType string,
	open func() ([]byte, error),
) (json.RawMessage, error) {
	data, err := open()
	text := strings.Join([]string{owner, name, mediaType, string(data)}, " ")
	return fmt.Appendf(nil, `{"format":"test","blocks":[{"kind":"paragraph","text":%q}]}`, text), err
}

func (looks) Thumbnail(_ context.Context, _ string, edge int, open func() ([]byte, error)) ([]byte, error) {
	data, err := open()
	switch {
	case err != nil:
		return nil, err
	case string(data) == "broken":
		return nil, fault.New(fault.Invalid, "the picture is damaged")
	case string(data) == "evil":
		return []byte("<html><script>"), nil
	}
	return fmt.Appendf(nil, "\x89PNG\r\n\x1a\n%d", edge), nil
}

func TestLooksOverHTTP(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f := s.put("/a/report.txt", "first")
		s.put("/a/report.txt", "second")
		at := "/api/fs/files/" + f.ID
		for query, want := range map[string]string{"": "second", "?version=1": "first", "?version=2": "second"} {
			look := decode[filestorehttp.DocumentLook](s.own("GET", at+"/document"+query, "").want(200))
			if text, _ := look.Blocks[0]["text"].(string); text != identitytest.Alice.DID+" report.txt text/plain "+want {
				t.Errorf("%s says %q", query, text)
			}
		}
		s.own("GET", at+"/document?version=9", "").want(404)
		s.own("GET", at+"/document?version=x", "").want(400)
		s.do(token(t, identitytest.Bob, "*"), "GET", at+"/document", "").want(404)
		s.do("", "GET", at+"/thumbnail", "").want(401)

		small := s.own("GET", at+"/thumbnail", "").want(200)
		if small.header.Get("Content-Type") != "image/png" || small.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("it came as %v", small.header)
		}
		s.own("GET", at+"/thumbnail", "", "If-None-Match: "+small.header.Get("Etag")).want(304)
		for content := range map[string]bool{"broken": true, "evil": true} {
			bad := s.put("/a/"+content, content)
			s.own("GET", "/api/fs/files/"+bad.ID+"/thumbnail", "").want(400)
		}
	})
}

// A folder is read in parts that are as large as somebody wants them.
func TestAFolderInPartsOverHTTP(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		for _, name := range []string{"a", "b/x", "c"} {
			s.put("/p/"+name, name)
		}
		var names []string
		for after := ""; ; {
			part := decode[filestorehttp.NodeList](s.own("GET", "/api/fs/tree?path=/p&limit=1"+after, "").want(200))
			for _, n := range part.Nodes {
				names = append(names, n.Name)
			}
			if part.Next == "" || len(names) > 5 {
				break
			}
			after = "&after=" + strings.ReplaceAll(part.Next, "\x01", "%01")
		}
		if got := strings.Join(names, " "); got != "a b c" {
			t.Errorf("the parts have %s", got)
		}
		s.own("GET", "/api/fs/tree?path=/p&limit=0", "").want(400)
	})
}
