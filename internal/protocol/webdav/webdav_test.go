package webdav_test

import (
	"encoding/xml"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/webdav"
)

func TestPropfindBodies(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]webdav.Propfind{
		"": {All: true},
		`<propfind xmlns="DAV:"><allprop/></propfind>`:                                           {All: true},
		`<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>`:             {NamesOnly: true},
		`<D:propfind xmlns:D="DAV:"><D:prop><D:a/><b xmlns="u:"/><c/></D:prop></D:propfind>`:     {Props: []xml.Name{{Space: "DAV:", Local: "a"}, {Space: "u:", Local: "b"}, {Local: "c"}}},
		`<D:propfind xmlns:D="DAV:"><D:allprop/><D:include><D:a/></D:include></D:propfind>`:      {All: true, Props: []xml.Name{{Space: "DAV:", Local: "a"}}},
		"<D:propfind xmlns:D='DAV:'>\n <x:y xmlns:x='u:'/> <D:prop><D:a/></D:prop></D:propfind>": {Props: []xml.Name{{Space: "DAV:", Local: "a"}}},
	} {
		if got, err := webdav.ParsePropfind(strings.NewReader(body)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{
		"<foo>", "<foo/>", "text", "<D:propfind/>", `<D:propfind xmlns:D="DAV:"/>`, `<propfind xmlns="DAV:"><allprop/><propname/></propfind>`,
		`<D:propfind xmlns:D="DAV:"><D:prop><bar:foo xmlns:bar=""/></D:prop></D:propfind>`, `<D:propfind xmlns:D="DAV:"><D:prop><x:y/></D:prop></D:propfind>`,
		`<D:propfind xmlns:D="DAV:"><D:prop></D:propfind></D:prop>`, `<!DOCTYPE a [<!ENTITY b "c">]><propfind xmlns="DAV:"><allprop/></propfind>`,
		`<propfind xmlns="DAV:"><prop>&b;</prop></propfind>`, strings.Repeat("<a>", 1000),
		`<propfind xmlns="DAV:"><prop>` + strings.Repeat("<a/>", 257) + `</prop></propfind>`, `<propfind xmlns="DAV:"><allprop/></propfind><a/>`,
	} {
		if got, err := webdav.ParsePropfind(strings.NewReader(body)); !errors.Is(err, webdav.ErrBody) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// A property keeps its meaning wherever it is written.
func TestAPropertyKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	body := `<D:propertyupdate xmlns:D="DAV:" xmlns:o="u:o"><D:set><D:prop>
		<o:one xml:lang="en" o:at="a&amp;b" plain="&lt;">t&gt;<two xmlns="u:two"><three xmlns=""/></two></o:one></D:prop></D:set>
		<D:remove><D:prop><o:gone/></D:prop></D:remove></D:propertyupdate>`
	all, err := webdav.ParseProppatch(strings.NewReader(body))
	if err != nil || len(all) != 2 || all[0].Remove || !all[1].Remove {
		t.Fatalf("%+v, %v", all, err)
	}
	first := all[0].Prop
	again, err := webdav.Parse(strings.NewReader(first.String()))
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%s\nis %+v, %v", first, again, err)
	}
	if again.String() != first.String() {
		t.Errorf("written again: %s", again)
	}
}

func TestLockBodies(t *testing.T) {
	t.Parallel()
	info, given, err := webdav.ParseLock(strings.NewReader(`<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype><owner>me <href>x</href></owner></lockinfo>`))
	if err != nil || !given || !info.Shared || info.Owner != `me <x:href xmlns:x="DAV:">x</x:href>` {
		t.Errorf("%+v, %t, %v", info, given, err)
	}
	if _, given, err := webdav.ParseLock(strings.NewReader("")); given || err != nil {
		t.Errorf("nothing: %t, %v", given, err)
	}
	if _, _, err := webdav.ParseLock(strings.NewReader(`<lockinfo xmlns="DAV:"><lockscope/><locktype><write/></locktype></lockinfo>`)); !errors.Is(err, webdav.ErrBody) {
		t.Errorf("no scope: %v", err)
	}
}

func TestIfHeaders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]webdav.If{
		``:        nil,
		`(<a:b>)`: {{Conditions: []webdav.Condition{{Token: "a:b"}}}},
		`(<a:b> ["e]"]) (Not <DAV:x>)`: {
			{Conditions: []webdav.Condition{{Token: "a:b"}, {Tag: `"e]"`}}},
			{Conditions: []webdav.Condition{{Not: true, Token: "DAV:x"}}},
		},
		`</p> (not [W/"e"])(<c>)`:       {{"/p", []webdav.Condition{{Not: true, Tag: `W/"e"`}}}, {"/p", []webdav.Condition{{Token: "c"}}}},
		`<http://h/p> (<c>) </q> (<d>)`: {{"http://h/p", []webdav.Condition{{Token: "c"}}}, {"/q", []webdav.Condition{{Token: "d"}}}},
	} {
		if got, err := webdav.ParseIf(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"x", "()", "(<a>", "(<a)", "([e])", `(["e")`, "<a>", "(<a>) <b> (<c>)", "(<>)", "(Not)",
		strings.Repeat("(<a>)", 300),
	} {
		if got, err := webdav.ParseIf(text); !errors.Is(err, webdav.ErrIf) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "<a/>", `<D:a xmlns:D="DAV:"><b c="d">e</b></D:a>`, "<a", "<a></b>", `<a xmlns:x="y"><x:b x:c="d"/></a>`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, err := webdav.Parse(strings.NewReader(body))
		if err != nil || e == nil {
			return
		}
		text := e.String()
		again, err := webdav.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%q is written as %q, which fails: %v", body, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q and then %q", text, again)
		}
	})
}

func FuzzParseIf(f *testing.F) {
	for _, s := range []string{"(<a>)", `</p> (Not ["e"])`, "(", "<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lists, err := webdav.ParseIf(text)
		for _, l := range lists {
			if err != nil || len(l.Conditions) == 0 {
				t.Fatalf("%q: %+v, %v", text, lists, err)
			}
		}
	})
}
