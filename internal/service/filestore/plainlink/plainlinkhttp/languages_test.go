package plainlinkhttp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Pages speak as the browser asks, or as the address says, and say so to caches.
func TestPagesSpeakTheReadersLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	alice := identitytest.Alice.DID
	s.w.MustPut(t, alice, "/d/one.txt", strings.Repeat("x", 1536))
	s.w.MustPut(t, alice, "/d/sub/two.txt", "22")
	file := s.link(`{"path":"/d/one.txt","maxUses":2,"expiresAt":"` + s.w.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`)
	folder := s.link(`{"path":"/d"}`)
	box := s.dropBox("/in", 100, 4)

	for _, c := range []struct {
		url, accept string
		want        []string
	}{
		{file.URL, "fr-CH, en;q=0.5", []string{`<html lang="fr" dir="ltr">`, "Télécharger", "1,5 Kio", "Il reste 2 téléchargements.", "Le lien expire le "}},
		{file.URL, "sw", []string{`<html lang="sw" dir="ltr">`, "Pakua", "KiB 1.5", "Kimebaki upakuaji 2."}},
		{file.URL, "ar-EG", []string{`<html lang="ar" dir="rtl">`, "تنزيلان", `aria-current="true"`}},
		{file.URL + "?language=sw", "fr", []string{`<html lang="sw"`, `<bdi>one.txt</bdi>`}},
		{file.URL + "?language=xx", "fr", []string{`<html lang="fr"`}},
		{folder.URL + "?language=ar", "fr", []string{`<html lang="ar" dir="rtl">`, `/sub/?language=ar"`, `/one.txt?language=ar"`}},
		{box.URL, "fr", []string{"Envoyer des fichiers", "encore 4, pour 100 o au total, jusqu’au "}},
		{box.URL, "ar", []string{`<html lang="ar" dir="rtl">`, "ملفات أخرى"}},
	} {
		page, h := s.do(200, "GET", c.url, browser, "", "Accept-Language", c.accept)
		for _, want := range c.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s in %s lacks %q:\n%s", c.url, c.accept, want, page)
			}
		}
		if lang := h.Get("Content-Language"); !strings.Contains(page, `<html lang="`+lang+`"`) || lang == "" {
			t.Errorf("Content-Language %q", lang)
		}
		if vary := strings.Join(h.Values("Vary"), ","); !strings.Contains(vary, "Accept-Language") || !strings.Contains(vary, "Accept,") {
			t.Errorf("Vary: %s", vary)
		}
	}
	if page := s.sendForm(413, box.URL+"?language=sw", browser, "a", strings.Repeat("x", 200)); !strings.Contains(page, "Si zote zilizofika. Kiungo hakipokei") {
		t.Errorf("too much in Swahili:\n%s", page)
	}
	if page := s.sendForm(400, box.URL+"?language=fr", browser); !strings.Contains(page, "Aucun fichier") {
		t.Errorf("nothing in French:\n%s", page)
	}
	page, h := s.do(404, "GET", "/s/"+strings.Repeat("a", 32), browser, "", "Accept-Language", "ar")
	if !strings.Contains(page, "هذا الرابط لا يؤدي إلى شيء") || h.Get("Content-Language") != "ar" {
		t.Errorf("no link in Arabic:\n%s", page)
	}
	s.do(204, "DELETE", "/api/fs/shares/"+folder.ID, "", "")
	s.w.Clock.Add(2 * time.Hour)
	for url, want := range map[string]string{file.URL: "il a expiré", folder.URL: "y a mis fin"} {
		if page, _ := s.do(410, "GET", url, browser, "", "Accept-Language", "fr"); !strings.Contains(page, want) {
			t.Errorf("over in French lacks %q:\n%s", want, page)
		}
	}
	// Programs are answered as ever, in whatever language they run.
	if text, h := s.do(410, "GET", file.URL, "*/*", "", "Accept-Language", "fr"); !strings.Contains(text, "the link is over: it is expired") || h.Get("Content-Language") != "" {
		t.Errorf("a program is told %s", text)
	}
}
