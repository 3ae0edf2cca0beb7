package csvcell_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/csvcell"
)

// TestNoCellIsAFormula reads what was written as spreadsheets of other countries do.
func TestNoCellIsAFormula(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "|calc", "%0", "=cmd|' /C calc'!A0", `",=1`, " =1", `"=1`,
		"a;=1", "a;=1;b", `a";"=1`, "a; =1", ";=1", "a\t=1", "a\n=1", "＝1", "a;＠SUM(A1)", ";;=1", `;"" =1`,
	} {
		var b strings.Builder
		w := csv.NewWriter(&b)
		if err := w.Write([]string{"id", csvcell.Inert(typed), "end"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		cells, err := csv.NewReader(strings.NewReader(b.String())).Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, separator := range ";\t" {
			cells = append(cells, strings.FieldsFunc(b.String(), func(r rune) bool { return r == separator || r == '\n' })...)
		}
		for _, cell := range cells {
			if first := strings.TrimLeft(cell, "\" \t\r\n"); strings.IndexFunc(first, isSign) == 0 {
				t.Errorf("%q: %q is a formula", typed, cell)
			}
		}
	}
}

func isSign(r rune) bool { return strings.ContainsRune("=+-@|%＝＋－＠｜％", r) }

func TestOtherTextsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Asha", "3-4", "a=b", "Maji; moto", "a, =b", "50%", "x@y.example", "2026-11-17"} {
		if got := csvcell.Inert(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
