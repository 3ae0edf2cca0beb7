package filestore_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// What has no bytes takes room in the database: files that are empty, which are copied by thousands
// in one request, keep to the quota too.
func TestAQuotaBoundsWhatHasNoBytes(t *testing.T) {
	t.Parallel()
	const quota, each = 8 << 10, 64
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		node := w.Node(func(c *filestore.Config) { c.Quota = quota })
		folders := folder.New(node, w.Store)
		for i := range each {
			w.MustPut(t, owner.Namespace, fmt.Sprintf("/seed/%d", i), "")
		}
		most := int(filestoresql.QuotaOfVersions(quota))
		refused := error(nil)
		for i := 0; refused == nil && i <= most/each; i++ {
			_, refused = folders.Copy(t.Context(), owner, folder.Ends{From: "/seed", To: fmt.Sprintf("/copy/%d", i)})
		}
		if !fault.Is(refused, fault.StorageFull) || fault.From(refused).Code != "quota_exceeded" {
			t.Fatalf("copies without end: %v", refused)
		}
		empty := filestore.Put{Path: "/seed/0", Mode: filestore.Upsert, Body: strings.NewReader("")}
		for range 2 * each { // old versions count, as their bytes do
			empty.Body = strings.NewReader("")
			if _, refused = node.Put(t.Context(), owner, empty); refused != nil {
				break
			}
		}
		u, err := node.Usage(t.Context(), owner)
		if err != nil || int(u.Versions) > most || refused == nil && most-int(u.Versions) > each {
			t.Errorf("%d versions, of at most %d; %v, %v", u.Versions, most, refused, err)
		}
	})
}

// prop is a property of a size.
func prop(size int) []davstate.Prop {
	return []davstate.Prop{{Name: xml.Name{Space: "urn:x", Local: "p"}, XML: "<p>" + strings.Repeat("x", size-7) + "</p>"}}
}

// Properties are in no quota: together they have a bound of their own, however they are copied, and what
// is gone makes room.
func TestPropertiesTogetherAreBounded(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const files = 8
		var last filestore.File
		for i := range files {
			last = w.MustPut(t, owner.Namespace, fmt.Sprintf("/a/%d", i), "")
			if err := w.Store.PatchProps(t.Context(), last.ID, prop(davstate.MaxPropBytes), nil); err != nil {
				t.Fatal(err)
			}
		}
		// As if there were so many others: what they take to be written says nothing.
		held := int64(davstate.MaxTogether - 3*files*davstate.MaxPropBytes)
		if _, err := w.DB.WriteOne(t.Context(), `UPDATE filestore_props_size SET size = $1 WHERE ns = $2 AND size = $3`,
			held, owner.Namespace, files*davstate.MaxPropBytes); err != nil {
			t.Fatal(err)
		}
		full := func(what string, err error) {
			t.Helper()
			if fault.From(err).Code != "too_many_properties" {
				t.Errorf("%s: %v", what, err)
			}
		}
		for i := 0; ; i++ {
			_, err := w.Folders.Copy(t.Context(), owner, folder.Ends{From: "/a", To: fmt.Sprintf("/d/%d", i)})
			if err != nil {
				full("a copy too much", err)
				break
			}
			if held += files * davstate.MaxPropBytes; held > davstate.MaxTogether {
				t.Fatalf("%d bytes of properties", held)
			}
		}
		fresh := w.MustPut(t, owner.Namespace, "/fresh", "")
		full("a property too much", w.Store.PatchProps(t.Context(), fresh.ID, prop(davstate.MaxPropBytes), nil))
		if err := w.Store.PatchProps(t.Context(), last.ID, nil, []xml.Name{{Space: "urn:x", Local: "p"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Store.PatchProps(t.Context(), fresh.ID, prop(davstate.MaxPropBytes), nil); err != nil {
			t.Errorf("after one was removed: %v", err)
		}
		full("again", w.Store.PatchProps(t.Context(), last.ID, prop(davstate.MaxPropBytes), nil))
		if _, err := w.Trash(t.Context(), owner, filestore.Target{ID: fresh.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Purge(t.Context(), owner, filestore.Target{ID: fresh.ID}); err != nil {
			t.Fatal(err)
		}
		if err := w.Store.PatchProps(t.Context(), last.ID, prop(davstate.MaxPropBytes), nil); err != nil {
			t.Errorf("after a file was purged: %v", err)
		}
		if err := w.Store.PatchProps(t.Context(), fresh.ID, prop(100), nil); !fault.Is(err, fault.NotFound) {
			t.Errorf("of a file that is not there: %v", err)
		}
	})
}

// A copy makes no more folders than may be made one by one.
func TestCopiesOfFoldersAreBounded(t *testing.T) {
	t.Parallel()
	w := filestoretest.Embedded(t)
	if _, _, err := w.Folders.Make(t.Context(), owner, "/a/0"); err != nil {
		t.Fatal(err)
	}
	for root, n := range map[string]int{"/a": folder.MaxEntries - 1, "/x": folder.MaxMade - 2*folder.MaxEntries} {
		if _, err := w.DB.WriteOne(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
			INSERT INTO filestore_folders (ns, path, hidden, id, created_ms) SELECT $2, $3 || '/' || i, 0, 'id' || $3 || i, 0 FROM n`,
			n, owner.Namespace, root); err != nil {
			t.Fatal(err)
		}
	}
	ends := folder.Ends{From: "/a", To: "/b"}
	if _, err := w.Folders.Copy(t.Context(), owner, ends); err != nil {
		t.Fatal(err)
	}
	ends.To = "/c"
	if _, err := w.Folders.Copy(t.Context(), owner, ends); fault.From(err).Code != "too_many_folders" {
		t.Errorf("more than %d: %v", folder.MaxMade, err)
	}
}
