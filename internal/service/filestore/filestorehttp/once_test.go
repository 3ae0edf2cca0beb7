package filestorehttp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// A key that comes with another body is a mistake of its sender, who would take
// the old receipt for the new change. The same request in another spelling is the
// same request.
func TestAKeyIsForOneBody(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		f, g := s.put("/f", "one two"), s.put("/g", "g")
		large := strings.Repeat("l", 100_000)
		n := 0
		for _, c := range []struct{ method, target, first, same, other string }{
			{"PUT", "/content?path=/text", "text", "text", "TEXT"},
			{"PUT", "/content?path=/text", "text", "text", "text that is longer"},
			{"PUT", "/files/" + g.ID, large, large, "x" + large[1:]},
			{"POST", "/files?path=/created", "text", "text", "else"},
			{"PATCH", "/files/" + f.ID + "/edit", `{"oldString":"one","newString":"1"}`, `{ "newString": "1", "oldString":"one", "replaceAll":false}`, `{"oldString":"two","newString":"2"}`},
			{"POST", "/move", `{"from":"/f","to":"/f2"}`, `{"to":"/f2","from":"/f"}`, `{"from":"/g","to":"/g2"}`},
			{"POST", "/move", `{"from":"/f2","to":"/f3"}`, `{"from":"/f2","to":"/f3","overwrite":false}`, `{"from":"/f2","to":"/f4"}`},
		} {
			n++
			key := fmt.Sprintf("Idempotency-Key: body %d", n)
			first := s.own(c.method, "/api/fs"+c.target, c.first, key)
			if first.status != 200 && first.status != 201 {
				t.Fatalf("%s %s: %d %s", c.method, c.target, first.status, first.body)
			}
			again := s.own(c.method, "/api/fs"+c.target, c.same, key).want(first.status)
			if strings.Contains(c.target, "/edit") { // texts are not kept, so the diff is not told again
				one, two := decode[filestorehttp.EditResult](first), decode[filestorehttp.EditResult](again)
				if one.Diff = ""; one != two {
					t.Errorf("edit:\n%+v\n%+v", one, two)
				}
			} else if first.body != again.body {
				t.Errorf("%s %s: another answer:\n%s\n%s", c.method, c.target, first.body, again.body)
			}
			if a := s.own(c.method, "/api/fs"+c.target, c.other, key).want(400); !strings.Contains(a.body, "key_reused") {
				t.Errorf("%s %s with another body: %s", c.method, c.target, a.body)
			}
		}
		items := func(to string) filestorehttp.ItemResult {
			move := `{"items":[{"id":"` + f.ID + `","destinationPath":"` + to + `"}]}`
			return decode[filestorehttp.BatchResult](s.own("POST", "/api/fs/batch/move", move, "Idempotency-Key: items").want(200)).Results[0]
		}
		if r := items("/here"); !r.OK {
			t.Errorf("%+v", r)
		}
		if r := items("/there"); r.OK || r.Status != 400 {
			t.Errorf("the item of another batch: %+v", r)
		}
		if r := items("/here"); !r.OK || r.Path != "/here" {
			t.Errorf("the item again: %+v", r)
		}
	})
}

// A folder that was moved is not moved again, whatever has come to its old place.
func TestAFolderMovesOnce(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.put("/d/a", "a")
		s.put("/d/b/c", "c")
		move := func(body string) answer { return s.own("POST", "/api/fs/move", body, "Idempotency-Key: folder") }
		first := move(`{"from":"/d","to":"/e"}`).want(200)
		if got := decode[filestorehttp.Moved](first); got.Count != 2 || got.File != nil {
			t.Errorf("moved %+v", got)
		}
		s.put("/d/new", "n")
		if again := move(`{"from":"/d","to":"/e"}`).want(200); again.body != first.body {
			t.Errorf("another answer:\n%s\n%s", first.body, again.body)
		}
		s.own("GET", "/api/fs/stat?path=/d/new", "").want(200)
		move(`{"from":"/d","to":"/g"}`).want(400)
	})
}
