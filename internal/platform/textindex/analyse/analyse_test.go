package analyse

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFormsOfAWordShareATerm(t *testing.T) {
	t.Parallel()
	for language, lists := range map[Language][]string{
		English:    {"clinic clinics Clinic", "decide decided deciding decision", "pay pays paid paying", "child children"},
		French:     {"réunion réunions Réunion", "payer paie payé", "ouvert ouverte ouvrir", "médecin médecins"},
		Spanish:    {"reunión reuniones", "pagar pago paga", "abierto abierta abre", "niño niños niña"},
		Portuguese: {"reunião reuniões", "pagar paga pagamento", "aberto aberta", "criança crianças"},
		Swahili:    {"mtoto watoto", "kituo vituo", "mkulima wakulima", "analipa walilipa tutalipa kulipa", "shule shuleni"},
		Arabic:     {"العيادة عيادة", "المدرسة مدرسة", "كِتاب كتاب"},
		Hindi:      {"बच्चा बच्चे बच्चों", "दवाई दवाइयाँ", "किसान किसानों"},
	} {
		for _, list := range lists {
			first := ""
			for word := range strings.FieldsSeq(list) {
				tokens := NewAnalyser().Tokens(nil, language, word)
				if len(tokens) != 1 {
					t.Fatalf("%s: %q gave %v", language, word, tokens)
				}
				if first == "" {
					first = tokens[0].Term
				} else if tokens[0].Term != first {
					t.Errorf("%s: %q gave %q, the others %q", language, word, tokens[0].Term, first)
				}
			}
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Language{
		"The clinic is open from Monday to Friday.":                    English,
		"La clinique est ouverte du lundi au vendredi.":                French,
		"La clínica está abierta de lunes a viernes para los niños.":   Spanish,
		"A clínica está aberta de segunda a sexta para as crianças.":   Portuguese,
		"Kliniki iko wazi kuanzia Jumatatu hadi Ijumaa kwa watu wote.": Swahili,
		"تفتح العيادة أبوابها من الاثنين إلى الجمعة":                   Arabic,
		"क्लिनिक सोमवार से शुक्रवार तक खुला रहता है":                   Hindi,
		"Der Brunnen wird um sechs Uhr aufgeschlossen.":                Undetermined,
		"诊所星期一到星期五开放":                                                  Undetermined,
		"":                                                             Undetermined,
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	text := "Dr. Achieng comes on Mondays. She sees 1.5 patients an hour!\nA line that\nis wrapped.\n\n- One item\n- Another item\n\n| a | b |\n| c | d |\nक्लिनिक खुला है। दवा मुफ़्त है।"
	want := []string{"Dr. Achieng comes on Mondays.", "She sees 1.5 patients an hour!", "A line that\nis wrapped.", "- One item", "- Another item", "| a | b |", "| c | d |", "क्लिनिक खुला है।", "दवा मुफ़्त है।"}
	var got []string
	for _, s := range Sentences(text) {
		got = append(got, text[s.Start:s.End])
	}
	if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		t.Fatalf("got %q\nwant %q", got, want)
	}
}

func TestDigitsOfOtherScripts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९", "০১২৩৪৫৬৭৮৯"} {
		if got := Plain(text); got != "0123456789" {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestSynonymFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"alone", "a,,b", "=> b", "a =>", "one two three four five six, b", "a, \xff",
		strings.Repeat("a", maxSynonymLine+1), strings.Repeat("a,b\n", MaxSynonymBytes/4+1),
		strings.Repeat("a,", maxSynonymGroup) + "b",
	} {
		if _, err := ParseSynonyms(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q was accepted", text)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range []string{"The clinics' doors", "l'eau payée", "العيادات", "दवाइयाँ", "诊所开放 abc", "\xff\xfe", "a\u0301e\u0301", "ﷺ ﬁne"} {
		for _, language := range Languages() {
			f.Add(string(language), text)
		}
	}
	f.Fuzz(func(t *testing.T, language, text string) {
		l := Language(language).Known()
		for round := range 2 { // the second time from memory
			a := NewAnalyser()
			for range round {
				a.Tokens(nil, l, text)
			}
			last := -1
			for _, token := range a.Tokens(nil, l, text) {
				switch {
				case token.Start < 0 || token.End > len(text) || token.Start >= token.End:
					t.Fatalf("token %+v is outside of %q", token, text)
				case token.Position <= last:
					t.Fatalf("token %+v goes back in %q", token, text)
				case token.Term == "" || len(token.Term) > MaxTerm || !utf8.ValidString(token.Term):
					t.Fatalf("token %+v of %q is no term", token, text)
				}
				last = token.Position
			}
		}
		end := 0
		for _, s := range Sentences(text) {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("sentence %v of %q", s, text)
			}
			end = s.End
		}
		Detect(text)
		Asks(text)
		NewAnalyser().Words(Readings(text, l), text)
	})
}

func TestEverydayWordsAreWellFormed(t *testing.T) {
	t.Parallel()
	s, err := readConcepts()
	if err != nil {
		t.Fatal(err)
	}
	a := NewAnalyser()
	for language, ask := range map[Language]string{English: "jab", French: "piqûre", Swahili: "sindano", Arabic: "تطعيم"} {
		words := a.Words([]Language{language}, ask)
		if got := s.Find(words, []Language{language}); len(got) == 0 || got[0].Language != language {
			t.Errorf("%s: nothing stands for %q", language, ask)
		}
		if got := s.Find(words, []Language{Hindi}); len(got) != 0 {
			t.Errorf("%s: %q has %v in another language", language, ask, got)
		}
	}
	if own, _ := ParseSynonyms(strings.NewReader("jab, tonic\n")); len(own.With(s).Find(a.Words([]Language{English},
		"jab"), []Language{English})) < 2 {
		t.Error("a community's words do not stand beside the everyday ones")
	}
}

func FuzzSynonyms(f *testing.F) {
	f.Add("clinic, health centre\nMP => member of parliament\n# note\n", "the health centres")
	f.Add("水, 井\nau, eau\n", "eau")
	f.Fuzz(func(t *testing.T, file, question string) {
		s, err := ParseSynonyms(strings.NewReader(file))
		if err != nil {
			return
		}
		words := NewAnalyser().Words(Readings(question, ""), question)
		for _, m := range s.Find(words, Languages()) {
			if m.First < 0 || m.Last < m.First || m.Last >= len(words) || len(m.Means) == 0 {
				t.Fatalf("match %+v in %d words", m, len(words))
			}
		}
	})
}

func FuzzDistance(f *testing.F) {
	f.Add("clinic", "clinci")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 64 || len(b) > 64 {
			return
		}
		if x, y := Distance(a, b, 2), Distance(b, a, 2); x != y || x > 3 || a == b && x != 0 {
			t.Fatalf("%q and %q: %d and %d", a, b, x, y)
		}
	})
}

func FuzzGrams(f *testing.F) {
	f.Add("clinic")
	f.Add("مصحة")
	f.Add("a\U0010ffff\xff")
	f.Fuzz(func(t *testing.T, term string) {
		marked := []rune("^" + term + "$")
		grams := AppendGrams(nil, term)
		if want := max(len(marked)-2, 0); len(marked) > 3 && len(grams) != want || len(marked) <= 3 && len(grams) != 0 {
			t.Fatalf("%q has %d grams", term, len(grams))
		}
		for i, g := range grams {
			if g.String() != string(marked[i:i+3]) {
				t.Fatalf("gram %d of %q is %q", i, term, g)
			}
			if i > 0 && cmp.Compare(g, grams[i-1]) != strings.Compare(g.String(), grams[i-1].String()) {
				t.Fatalf("%q and %q are not ordered as their texts", g, grams[i-1])
			}
		}
	})
}

// A Swahili verb says who does it, when and to whom: the lexicon knows it all the same.
func TestLexiconKnowsSwahiliVerbs(t *testing.T) {
	t.Parallel()
	s, a := Concepts(), NewAnalyser()
	for _, verb := range []string{"kulipa", "nitakulipa", "nimlipe", "watanilipa"} {
		words := a.Words([]Language{Swahili}, verb)
		if len(s.Find(words, []Language{Swahili})) == 0 {
			t.Errorf("%s means nothing", verb)
		}
		for _, root := range words[0].Roots {
			if len(root) < swahiliRest {
				t.Errorf("%s has the root %q", verb, root)
			}
		}
	}
}
