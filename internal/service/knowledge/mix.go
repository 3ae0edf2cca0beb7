package knowledge

import (
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// spare is how many times as many hits are looked at as are wanted, so that there is
// something else to show when one document or owner has most of the best.
const spare = 3

// mixed are the best hits, of which one document and one owner have at most every
// other one and one more, while others have something to say. They stay in order.
func mixed(hits []textindex.Hit, want int, owners map[string]string) []textindex.Hit {
	if len(hits) <= want {
		return hits
	}
	share := want/2 + 1
	taken, count := make([]bool, len(hits)), map[string]int{}
	left := want
	take := func(i int) { taken[i], left = true, left-1 }
	for i, h := range hits {
		document, owner := "d"+h.Collection+"/"+h.Document, "o"+owners[h.Collection]
		if left == 0 || count[document] >= share || count[owner] >= share {
			continue
		}
		count[document]++
		count[owner]++
		take(i)
	}
	for i := range hits { // nobody else has anything to say
		if left > 0 && !taken[i] {
			take(i)
		}
	}
	out := make([]textindex.Hit, 0, want)
	for i, h := range hits {
		if taken[i] {
			out = append(out, h)
		}
	}
	return out
}

// scopeOf chooses the documents of collections: a file that is in several collections
// of its owner, one within the other, counts once, in the first of them.
func scopeOf(collections []Collection, open map[string]*opened) textindex.Scope {
	scope, before := textindex.Scope{}, map[string][]Collection{} // by namespace
	for _, c := range collections {
		o, there := open[c.ID]
		if !there {
			continue
		}
		scope[c.ID] = textindex.AllDocuments()
		var around []*opened
		for _, other := range before[c.Namespace] {
			mine, theirs := vfspath.Below(c.Folder), vfspath.Below(other.Folder)
			if mine.Covers(theirs) || theirs.Covers(mine) {
				around = append(around, open[other.ID])
			}
		}
		if len(around) > 0 {
			scope[c.ID] = textindex.OnlyDocuments(without(o, around)...)
		}
		before[c.Namespace] = append(before[c.Namespace], c)
	}
	return scope
}

// without are the documents that no other collection has.
func without(o *opened, others []*opened) []string {
	var only []string
	for generation, d := range o.docs {
		known := false
		for _, other := range others {
			_, has := other.files[d.FileID]
			known = known || has
		}
		if !known {
			only = append(only, generation)
		}
	}
	return only
}
