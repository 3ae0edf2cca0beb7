package oracletest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

func testSearch(t *testing.T, st Store) {
	talk := func(title, said, answer string) string {
		s := NewSession(t, st)
		_, err := st.SetTitle(t.Context(), s.ID, title, time.Now())
		must(t, err)
		Answer(t, st, Say(t, st, s.ID, said, oracle.Interrupt).Run, answer)
		return s.ID
	}
	bees := talk("Bees in spring", "When do they fly?", "On warm days, above 10 °C.")
	apples := talk("Äpfel und Birnen", "What grows here?", "Plums, 100% of them; a_b \\ c. Bees help.")
	foreign := oracle.Session{ID: oracle.NewID(), Owner: Stranger, Title: "Bees elsewhere", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	must(t, st.CreateSession(t.Context(), foreign))

	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"bees"}, []string{apples, bees}}, // title of one, answer of the other, nobody else's
		{[]string{"BEES", "fly"}, []string{bees}},
		{[]string{"bees", "grows"}, []string{apples}},
		{[]string{"äpfel"}, []string{apples}},
		{[]string{"ÄPFEL"}, []string{apples}},
		{[]string{"birn"}, []string{apples}},
		{[]string{"100%"}, []string{apples}},
		{[]string{"10%"}, nil},
		{[]string{"a_b"}, []string{apples}},
		{[]string{"w_rm"}, nil},
		{[]string{`\`}, []string{apples}},
		{[]string{"' OR 1=1 --"}, nil},
		{nil, []string{apples, bees}},
	} {
		hits, total, err := st.Search(t.Context(), Owner, oracle.SearchQuery{Words: c.words, Limit: 10})
		must(t, err)
		var got []string
		for _, h := range hits {
			got = append(got, h.ID)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if d := cmp.Diff(c.want, got); d != "" || int(total) != len(c.want) {
			t.Errorf("%q: %d found, %s", c.words, total, d)
		}
	}

	hits, total, err := st.Search(t.Context(), Owner, oracle.SearchQuery{Words: []string{"bees"}, Limit: 1, Offset: 1})
	if err != nil || total != 2 || len(hits) != 1 {
		t.Fatalf("second page: %d of %d, %v", len(hits), total, err)
	}
	hits, _, err = st.Search(t.Context(), Owner, oracle.SearchQuery{Words: []string{"grows", "plums", "bees"}, Limit: 1})
	if err != nil || len(hits) != 1 || hits[0].Title != "Äpfel und Birnen" || hits[0].Excerpt != "Plums, 100% of them; a_b \\ c. Bees help." {
		t.Fatalf("the message with most of the words: %+v, %v", hits, err)
	}
	hits, _, err = st.Search(t.Context(), Owner, oracle.SearchQuery{Words: []string{"spring"}, Limit: 1})
	if err != nil || len(hits) != 1 || hits[0].Excerpt != "" {
		t.Fatalf("only the title has it: %+v, %v", hits, err)
	}
}
