package ussdform_test

import (
	"context"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
)

func TestAValueIsOfItsKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, typed, kept string }{
		{ussdform.Text, "Ann", "Ann"},
		{ussdform.Number, "12", "12"},
		{ussdform.Number, "12,50", "12.5"},
		{ussdform.Number, "-0", "0"},
		{ussdform.Number, "007", "7"},
		{ussdform.Number, "1e9", ""},
		{ussdform.Number, "NaN", ""},
		{ussdform.Number, "1.2.3", ""},
		{ussdform.Number, "1234567890123456789", ""},
		{ussdform.Date, "03021990", "1990-02-03"},
		{ussdform.Date, "3/2/1990", "1990-02-03"},
		{ussdform.Date, "1990-02-03", "1990-02-03"},
		{ussdform.Date, "31021990", ""},
		{ussdform.Date, "01010001", ""},
		{ussdform.Date, "soon", ""},
		{ussdform.Choice, "maize", "maize"},
		{ussdform.Choice, "Maize", ""},
	} {
		form := ussdform.Form{Fields: []ussdform.Field{{
			Name: "f", Var: "v", Kind: tc.kind, Choices: []string{"maize", "beans"},
		}}}
		values, ok := form.Read(map[string]string{"v": tc.typed})
		if ok != (tc.kept != "") || ok && values[0].Text != tc.kept {
			t.Errorf("%s %q: %+v %v", tc.kind, tc.typed, values, ok)
		}
	}
	form := ussdform.Form{
		Fields: []ussdform.Field{{Name: "a", Var: "a", Kind: ussdform.Text, Optional: true}}, Consent: "agreed",
	}
	if values, ok := form.Read(nil); !ok || len(values) != 0 {
		t.Errorf("%+v %v", values, ok)
	}
	if form.Agreed(map[string]string{"agreed": "no"}) || form.Agreed(nil) || !form.Agreed(map[string]string{"agreed": "yes"}) {
		t.Error("a form is kept without a yes")
	}
}

// one is a store with one submission.
type one struct {
	ussdform.Store
	values []ussdform.Value
}

func (o one) Fields(context.Context, string) ([]string, error) {
	var names []string
	for _, v := range o.values {
		names = append(names, v.Field)
	}
	return names, nil
}

func (o one) Submissions(context.Context, string, string, int) ([]ussdform.Submission, error) {
	return []ussdform.Submission{{ID: "1", Phone: "+254700000001", Values: o.values}}, nil
}

// TestAnExportHasNoFormulas, whatever people type: a spreadsheet would run them.
func TestAnExportHasNoFormulas(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "|calc", "%0", "=cmd|' /C calc'!A0", `",=1`, "a;=1"} {
		var b strings.Builder
		store := one{values: []ussdform.Value{
			{Field: "=name", Kind: ussdform.Text, Text: typed}, {Field: "n", Kind: ussdform.Number, Text: "-1"},
		}}
		if err := ussdform.Export(t.Context(), store, "f", &b, func(p string) string { return p }); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][6] != "-1" || rows[1][3] != "'+254700000001" {
			t.Fatalf("%q: %v %v", typed, rows, err)
		}
		for _, text := range []string{rows[0][5], rows[1][5]} {
			if strings.ContainsAny(text[:1], "=+-@\t\r\n|%") || strings.Contains(text, ";=") { // some countries separate by semicolons
				t.Errorf("%q is %q", typed, text)
			}
		}
	}
}
