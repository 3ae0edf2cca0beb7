package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/namekit"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

func featuresOf(t *testing.T, w *world, query url.Values) (said featureList) {
	t.Helper()
	got := w.send(t, request{method: http.MethodGet, target: "/console/features.json?" + query.Encode()})
	if err := json.Unmarshal(got.Body.Bytes(), &said); err != nil {
		t.Fatalf("%d %s: %v", got.Code, got.Body, err)
	}
	return said
}

// TestTheTelephoneMeasuresByTheServiceCode: what networks show of a screen is told for the code that
// is dialled.
func TestTheTelephoneMeasuresByTheServiceCode(t *testing.T) {
	t.Parallel()
	w := open(t, "USSD_SCREEN_LIMIT", "160,*384#=140/60")
	for code, want := range map[string]screenSize{
		"": {160, 70}, "*2233#": {160, 70}, "*384#": {140, 60}, "*384*7#": {140, 60}, "nonsense": {160, 70},
	} {
		if said := featuresOf(t, w, url.Values{"code": {code}}); said.Screen != want {
			t.Errorf("%q: %v, want %v", code, said.Screen, want)
		}
	}
}

// TestTheNameChangesWhileItRuns: a stored name is said at once, and taken away again.
func TestTheNameChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	w := open(t)
	change := operatordoc.Change{Author: "Ada"}
	expect := func(name string) {
		t.Helper()
		if said := featuresOf(t, w, nil); said.Name != name {
			t.Errorf("the console says %q, want %q", said.Name, name)
		}
		if body := w.send(t, request{method: http.MethodGet, target: "/"}).Body.String(); !strings.Contains(body, `"`+name+` is running"`) {
			t.Errorf("/ says %s, want %q", body, name)
		}
	}
	expect("Castalia")
	v, err := w.documents.shelf.Store(t.Context(), namekit.DocumentName, []byte(namekit.Text("Mama Maji")), change)
	if err != nil {
		t.Fatal(err)
	}
	expect("Mama Maji")
	if value, ok := w.storedSetting("ORACLE_NAME"); value != "Mama Maji" || !ok {
		t.Errorf("the settings say %q %v", value, ok)
	}
	change.After = v.Number
	if _, err := w.documents.shelf.Remove(t.Context(), namekit.DocumentName, change); err != nil {
		t.Fatal(err)
	}
	expect("Castalia")
}
