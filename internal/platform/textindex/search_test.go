package textindex_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
)

func ctx(t require) context.Context {
	t.Helper()
	if with, ok := t.(interface{ Context() context.Context }); ok {
		return with.Context()
	}
	return context.Background()
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

var village = []textindex.Passage{
	{Document: "clinic", Number: 0, Title: "Clinic hours", Headings: "Opening hours", Text: "The clinic is open from Monday to Friday. Doors open at 08:00 and close at 16:30. On public holidays the nurse can be called.", Meta: []byte("page 1")},
	{Document: "clinic", Number: 1, Title: "Clinic hours", Headings: "Fees", Text: "A visit costs 200 shillings. Children under five pay nothing."},
	{Document: "minutes", Number: 0, Title: "Minutes of the cooperative", Headings: "Pump", Text: "The committee decided to repair the pump before the rains. Joseph Otieno will buy the parts in Kisumu."},
	{Document: "bei", Number: 0, Title: "Bei za mazao", Headings: "Mahindi", Text: "Bei ya mahindi kwa gunia ni shilingi 3200. Wakulima wanalipwa baada ya siku saba."},
	{Document: "eau", Number: 0, Title: "Règlement du puits", Headings: "Horaires", Text: "Le puits est ouvert de six heures à midi. Les familles paient leur eau à la fin du mois."},
	{Document: "agua", Number: 0, Title: "Normas del pozo", Headings: "Cuotas", Text: "Cada familia paga la cuota del agua el primer lunes del mes. Los niños no pueden abrir la bomba."},
	{Document: "ar", Number: 0, Title: "العيادة", Headings: "المواعيد", Text: "تفتح العيادة أبوابها من الساعة الثامنة صباحا. يوم الجمعة عطلة."},
	{Document: "hi", Number: 0, Title: "क्लिनिक", Headings: "समय", Text: "क्लिनिक सोमवार से शुक्रवार तक खुला रहता है। बच्चों के लिए दवाइयाँ मुफ़्त हैं।"},
	{Document: "zh", Number: 0, Title: "诊所", Headings: "时间", Text: "诊所星期一到星期五开放。儿童免费看病。"},
	{Document: "de", Number: 0, Title: "Brunnenordnung", Headings: "Öffnungszeiten", Text: "Der Brunnen wird um sechs Uhr aufgeschlossen. Familien zahlen ihre Gebühren am Monatsende."},
}

func TestSearchFindsForms(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	for _, c := range []struct{ question, document, answer string }{
		{"When does the clinic open?", "clinic", "Doors open at 08:00 and close at 16:30."},
		{"how much does a child pay", "clinic", "Children under five pay nothing."},
		{"what was the decision about repairing pumps", "minutes", "The committee decided to repair the pump before the rains."},
		{"committtee decidde pump", "minutes", "The committee decided to repair the pump before the rains."},
		{"bei ya gunia la mahindi ni ngapi", "bei", "Bei ya mahindi kwa gunia ni shilingi 3200."},
		{"mkulima analipwa lini", "bei", "Wakulima wanalipwa baada ya siku saba."},
		{"quand payer l'eau", "eau", "Les familles paient leur eau à la fin du mois."},
		{"¿Cuándo se pagan las cuotas?", "agua", "Cada familia paga la cuota del agua el primer lunes del mes."},
		{"متى تفتح العيادات", "ar", "تفتح العيادة أبوابها من الساعة الثامنة صباحا."},
		{"बच्चे की दवाई", "hi", "बच्चों के लिए दवाइयाँ मुफ़्त हैं।"},
		{"儿童看病", "zh", "儿童免费看病。"},
		{"Gebühr der Familie", "de", "Familien zahlen ihre Gebühren am Monatsende."},
	} {
		found := search(t, textindex.Query{Text: c.question, Scope: textindex.Scope{"village": textindex.AllDocuments()}}, view)
		if len(found.Hits) == 0 {
			t.Errorf("%q found nothing", c.question)
			continue
		}
		hit := found.Hits[0]
		if hit.Document != c.document || !strings.Contains(strings.Join(hit.Sentences(), " "), c.answer) {
			t.Errorf("%q found %s: %q, want %s: %q", c.question, hit.Document, hit.Sentences(), c.document, c.answer)
		}
	}
}

func TestSynonymsOfTheCommunity(t *testing.T) {
	t.Parallel()
	synonyms, err := analyse.ParseSynonyms(strings.NewReader("clinic, health centre\nchairman => joseph otieno\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := textindex.NewSearcher([]*textindex.View{open(t, build(t, "village", village))}, synonyms)
	for question, document := range map[string]string{"health centres": "clinic", "chairman": "minutes"} {
		found, err := s.Search(t.Context(),
			textindex.Query{Text: question, Scope: textindex.Scope{"village": textindex.AllDocuments()}})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) == 0 || found.Hits[0].Document != document {
			t.Errorf("%q found %+v, want %s", question, found.Hits, document)
		}
	}
}

func TestReadAndMeta(t *testing.T) {
	t.Parallel()
	s := textindex.NewSearcher([]*textindex.View{open(t, build(t, "village", village))}, nil)
	p, ok, err := s.Read(t.Context(), textindex.Scope{"village": textindex.AllDocuments()},
		textindex.Key{Collection: "village", Document: "clinic", Number: 1})
	if err != nil || !ok || p.Headings != "Fees" {
		t.Fatalf("read %+v, %v, %v", p, ok, err)
	}
	found := search(t, textindex.Query{Text: "doors", Scope: textindex.Scope{"village": textindex.AllDocuments()}},
		open(t, build(t, "village", village)))
	if len(found.Hits) != 1 || string(found.Hits[0].Meta) != "page 1" {
		t.Fatalf("found %+v", found.Hits)
	}
}

func TestKnowsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	view := open(t, build(t, "village", village))
	for question, want := range map[string]bool{
		"When does the clinic open?":                       true,
		"what was the decision about repairing pumps":      true,
		"mkulima analipwa lini":                            true,
		"quand payer l'eau":                                true,
		"who won the football championship":                false,
		"how do I renew my passport":                       false,
		"what is the clinic's telephone number for snakes": false,
		"¿Quién es el presidente de la república?":         false,
		"": false,
	} {
		found := search(t, textindex.Query{Text: question, Scope: textindex.Scope{"village": textindex.AllDocuments()}}, view)
		if found.Answered != want {
			t.Errorf("%q: answered %v with confidence %.2f, want %v", question, found.Answered, found.Confidence, want)
		}
	}
}
