package words_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/words"
)

func TestEveryLanguageSaysAllThatEnglishSays(t *testing.T) {
	t.Parallel()
	for _, fault := range words.Shipped().Faults() {
		t.Error(fault)
	}
	var codes []string
	for _, l := range words.Shipped().Languages() {
		codes = append(codes, l.Code)
	}
	if !slices.Equal(codes, []string{"en", "ar", "fr", "sw"}) {
		t.Errorf("the languages are %v", codes)
	}
}

func file(texts string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(`{"$language":{"name":"X","direction":"ltr","reviewed":""},"a":{` + texts + `}}`)}
}

func TestWhatATranslationLacksIsTold(t *testing.T) {
	t.Parallel()
	b, err := words.Read(fstest.MapFS{
		"en.json": file(`"gone":"{n, plural, one {# file is} other {# files are}} gone from {place}","kind":"{kind, select, a {A} other {B}}","kept":"Kept"`),
		"ar.json": file(`"gone":"{n, plural, one {x} other {y}} {plce}","kind":"{kind, select, other {B}}","more":"x"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ar: a.more: English has no such text",
		"ar: a.gone takes n, plce, and in English n, place",
		"ar: a.gone: {n, plural} lacks few",
		"ar: a.gone: {n, plural} lacks many",
		"ar: a.gone: {n, plural} lacks two",
		"ar: a.gone: {n, plural} lacks zero",
		"ar: a.kept is missing",
		"ar: a.kind: {kind, select} lacks a",
	}
	if got := b.Faults(); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFilesThatAreNotWellFormedAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("{n, plural, other {", 6) + "x" + strings.Repeat("}}", 6)
	for text, want := range map[string]string{
		`"x":"{"`:                                 "a.x: not well formed at 1",
		`"x":"}"`:                                 "not well formed at 0",
		`"x":"{n, plural,"`:                       "not well formed",
		`"x":"{n, plural, }"`:                     "not well formed",
		`"x":"{n, many, other {x}}"`:              "not well formed",
		`"x":"{n, plural, one {x}}"`:              "not well formed",
		`"x":"{n, plural, other x}"`:              "not well formed",
		`"x":"` + deep + `"`:                      "deep",
		`"x":""`:                                  "empty",
		`"x":"` + strings.Repeat("a", 2001) + `"`: "at most 2000",
		`"x":"a","x":"b"`:                         "comes twice",
		`"x":3`:                                   "decode",
		`"x":"` + strings.Repeat("a", 300_000) + `"`: "at most 262144",
	} {
		_, err := words.Read(fstest.MapFS{"en.json": file(text)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	if _, err := words.Read(fstest.MapFS{"fr.json": file(`"x":"y"`)}); err == nil || !strings.Contains(err.Error(), "en.json") {
		t.Errorf("without English: %v", err)
	}
	if _, err := words.Read(fstest.MapFS{"en.json": {Data: []byte(`{"$language":{"name":"X","direction":"up"}}`)}}); err == nil {
		t.Error("a direction up was taken")
	}
	if _, err := words.Read(fstest.MapFS{"english.json": file(`"x":"y"`)}); err == nil {
		t.Error("a file that no language is called was taken")
	}
}

func speaks(t *testing.T, code string) *words.Language {
	t.Helper()
	l, ok := words.Shipped().Named(code)
	if !ok {
		t.Fatalf("nobody speaks %s", code)
	}
	return l
}

func TestNumbersFormsAndDatesAreThoseOfTheLanguage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 3, 9, 5, 0, 0, time.UTC)
	for _, c := range []struct{ code, want string }{
		{"en", "It is good for 1 more download.|It is good for 1,200 more downloads.|512 B|1.5 KiB|3 August 2026 at 09:05 UTC"},
		{"fr", "Il reste 1 téléchargement.|Il reste 1\u00a0200 téléchargements.|512 o|1,5 Kio|3 août 2026 à 09:05 UTC"},
		{"sw", "Kimebaki upakuaji 1.|Kimebaki upakuaji 1,200.|baiti 512|KiB 1.5|3 Agosti 2026, 09:05 UTC"},
	} {
		l := speaks(t, c.code)
		got := strings.Join([]string{
			l.Say("links.left", words.Values{"n": int64(1)}), l.Say("links.left", words.Values{"n": int64(1200)}),
			l.Size(512), l.Size(1536), l.Moment(at),
		}, "|")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.code, got, c.want)
		}
	}
	ar := speaks(t, "ar")
	for n, want := range map[int64]string{1: "تنزيل واحد", 2: "تنزيلان", 3: "تنزيلات", 11: "تنزيلًا", 100: "تنزيل"} {
		if got := ar.Say("links.left", words.Values{"n": n}); !strings.Contains(got, want) {
			t.Errorf("%d in Arabic: %s", n, got)
		}
	}
}

func TestValuesDoNotTurnTheSentence(t *testing.T) {
	t.Parallel()
	ar, en := speaks(t, "ar"), speaks(t, "en")
	name := words.Values{"name": "Amina (#1) {x}"}
	if got := ar.Say("page.draft", name); got != "\u2068Amina (#1) {x}\u2069 (مسودة)" {
		t.Errorf("Arabic: %q", got)
	}
	if got := ar.SayPlain("page.draft", name); strings.ContainsAny(got, "\u2068\u2069") {
		t.Errorf("a telephone would show boxes: %q", got)
	}
	if got := en.Say("page.draft", name); got != "Amina (#1) {x} (draft)" {
		t.Errorf("English: %q", got)
	}
	if got := en.Say("no.such", nil); got != "no.such" {
		t.Errorf("a text that is missing: %q", got)
	}
}

func TestTheLanguageThatIsLikedBestIsChosen(t *testing.T) {
	t.Parallel()
	b := words.Shipped()
	for header, want := range map[string]string{
		"":                                "en",
		"sw":                              "sw",
		"sw-KE,en;q=0.9":                  "sw",
		"SW-ke":                           "sw",
		"de, fr;q=0.8, ar;q=0.9":          "ar",
		"fr;q=0.8,sw;q=0.8":               "fr",
		"fr;q=0,sw;q=0.001":               "sw",
		"de":                              "en",
		"*":                               "en",
		"en;q=0, *":                       "ar",
		"en;q=0, ar;q=0, *;q=0.1":         "fr",
		"en;q=0, *;q=0":                   "en",
		"fr;q=1.5, sw;q=0.1":              "sw",
		"fr;q=0.1234, sw;q=0.1":           "sw",
		"fr;q=x, sw;q=0.1":                "sw",
		"fr;level=1, sw;q=0.1":            "sw",
		"fr ; Q = 1.000 , sw":             "fr",
		";;,,;q=1,=, fr":                  "fr",
		strings.Repeat("xx,", 39) + "fr":  "fr",
		strings.Repeat("xx,", 40) + "fr":  "en",
		strings.Repeat("y", 999) + ",fr":  "en",
		"fr," + strings.Repeat("y", 5000): "fr",
		strings.Repeat("a", 100_000):      "en",
	} {
		if got := b.Accepted([]string{header}, b.English()); got.Code != want {
			t.Errorf("%.60q: %s, want %s", header, got.Code, want)
		}
	}
	if got := b.Accepted([]string{"de", "fr;q=0.2", "sw;q=0.3"}, b.English()); got.Code != "sw" {
		t.Errorf("several fields: %s", got.Code)
	}
	if got := b.Accepted(nil, speaks(t, "fr")); got.Code != "fr" {
		t.Errorf("who names none gets what is usual: %s", got.Code)
	}
}

func FuzzAccepted(f *testing.F) {
	f.Add("en;q=0, *;q=0.5, fr-CA;q=0.1")
	b := words.Shipped()
	f.Fuzz(func(t *testing.T, header string) {
		if b.Accepted([]string{header}, b.English()) == nil {
			t.Error("no language")
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("{n, plural, one {# file} other {# files of {name}}}")
	f.Fuzz(func(_ *testing.T, text string) {
		quoted := strings.NewReplacer(`\`, "", `"`, "").Replace(text)
		b, err := words.Read(fstest.MapFS{"en.json": file(`"x":"` + quoted + `"`)})
		if err == nil {
			b.English().Say("a.x", words.Values{"n": int64(3), "name": "x"})
		}
	})
}
