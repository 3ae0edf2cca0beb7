package knowledge_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetest"
)

// What words mean to the community counts as soon as it says so, and no longer.
func TestTheCommunitysWords(t *testing.T) {
	t.Parallel()
	w := knowledgetest.Embedded(t)
	w.Files.Put(home, "/coop/shares.txt", "# Shares\nThe dividend is paid out in December.")
	w.MustCreate(t, home, "Coop", "/coop", knowledge.Everybody)
	w.Settle(t)
	var words *analyse.Synonyms
	svc := w.Node(func(d *knowledge.Deps, _ *knowledge.Config) { d.Synonyms = func() *analyse.Synonyms { return words } })
	const question = "kitty"
	found := func() bool {
		t.Helper()
		a, err := svc.Search(t.Context(), knowledge.Caller{}, knowledge.Question{Text: question})
		if err != nil {
			t.Fatal(err)
		}
		return len(a.Hits) > 0
	}
	if found() {
		t.Error("it is found before anybody said what a kitty is")
	}
	for range 2 {
		var err error
		if words, err = analyse.ParseSynonyms(strings.NewReader("kitty, dividend\n")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !found() {
				t.Error("it is not found")
			}
		}
	}
	words = nil
	if found() {
		t.Error("it is found after the word was taken back")
	}
}
