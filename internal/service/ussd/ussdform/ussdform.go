// Package ussdform is what telephone users send as forms: which fields a form has,
// how what was typed becomes a text, a number, a date or a choice, and how
// submissions leave as CSV.
//
// It promises that a value is of its field's type, in one spelling, and that no
// cell of an export is a formula to a spreadsheet. It refuses a submission whose
// sender did not agree where the form asks for it: nothing of that is kept.
//
// Decision: ADR 0212.
package ussdform

import (
	"context"
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/csvcell"
)

// Form is a form as a menu declares it.
type Form struct {
	Fields []Field `yaml:"fields"`
	// Consent is the variable that must be "yes", when it is set.
	Consent string `yaml:"consent"`
	// Notify is the DID whose webhooks hear of submissions, or "".
	Notify string `yaml:"notify"`
	// Receipt sends the caller a text message with the submission's id, where the
	// deployment has a gateway for that.
	Receipt bool `yaml:"receipt"`
}

// Field is one value of a form, taken from a variable of the menu.
type Field struct {
	Name     string   `yaml:"name"`
	Var      string   `yaml:"var"`
	Kind     string   `yaml:"kind"`
	Choices  []string `yaml:"choices"`
	Optional bool     `yaml:"optional"`
}

// The kinds of fields.
const (
	Text   = "text"
	Number = "number"
	Date   = "date"
	Choice = "choice"
)

// Kinds lists the kinds of fields.
func Kinds() []string { return []string{Text, Number, Date, Choice} }

// Value is one value of a submission. Number is that of a number, or the days of a
// date since 1970; of others there is none.
type Value struct {
	Field  string   `json:"field"`
	Kind   string   `json:"kind"`
	Text   string   `json:"value"`
	Number *float64 `json:"-"`
}

// Submission is a form that somebody sent.
type Submission struct {
	ID       string
	Form     string
	Menu     string // the version whose form it was
	Account  string // who was logged in, or ""
	Phone    string
	Language string
	At       time.Time
	Values   []Value
	Notify   string
	Receipt  bool
}

// Count is how often a form was sent, and when first and last.
type Count struct {
	Form        string    `json:"form"`
	Submissions int64     `json:"submissions"`
	First       time.Time `json:"firstAt"`
	Last        time.Time `json:"lastAt"`
}

// Store keeps submissions. Those of a form are in the order of their ids, the
// oldest first.
type Store interface {
	Forms(ctx context.Context) ([]Count, error)
	Submissions(ctx context.Context, form, after string, limit int) ([]Submission, error)
	// Fields lists the names of fields that submissions of a form have.
	Fields(ctx context.Context, form string) ([]string, error)
	// DeleteSubmission reports whether it was there.
	DeleteSubmission(ctx context.Context, form, id string) (bool, error)
}

// Agreed reports whether the sender agreed, or need not.
func (f Form) Agreed(vars map[string]string) bool { return f.Consent == "" || vars[f.Consent] == "yes" }

// Read takes a form's values from a session's variables. ok is false when one is
// missing or not of its kind.
func (f Form) Read(vars map[string]string) (values []Value, ok bool) {
	for _, field := range f.Fields {
		v := Value{Field: field.Name, Kind: field.Kind, Text: strings.TrimSpace(vars[field.Var])}
		if v.Text == "" {
			if !field.Optional {
				return nil, false
			}
			continue
		}
		switch field.Kind {
		case Number:
			ok = v.readNumber()
		case Date:
			ok = v.readDate()
		case Choice:
			ok = slices.Contains(field.Choices, v.Text)
		default:
			ok = true
		}
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

const maxNumber = 15 // digits that a number keeps exactly

// readNumber takes digits with one sign and one point or comma.
func (v *Value) readNumber() bool {
	text := strings.Replace(v.Text, ",", ".", 1)
	if len(text) > maxNumber+1 || strings.Trim(text, "+-0123456789.") != "" {
		return false
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) {
		return false
	}
	if n == 0 {
		n = 0 // of -0 the sign is left out
	}
	v.Number, v.Text = &n, strconv.FormatFloat(n, 'f', -1, 64)
	return true
}

// readDate takes a date as people type it on ten keys: with the day first, or as
// ISO 8601 has it.
func (v *Value) readDate() bool {
	for _, layout := range []string{"02012006", "2/1/2006", "2.1.2006", "2-1-2006", time.DateOnly} {
		if at, err := time.Parse(layout, v.Text); err == nil && at.Year() >= 1800 && at.Year() <= 2200 {
			days := float64(at.Unix() / (24 * 60 * 60))
			v.Number, v.Text = &days, at.Format(time.DateOnly)
			return true
		}
	}
	return false
}

const exportPage = 500

// Export writes the submissions of a form as CSV, one a line. show writes a
// telephone number as it may leave.
func Export(ctx context.Context, store Store, form string, w io.Writer, show func(phone string) string) error {
	fields, err := store.Fields(ctx, form)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	header := []string{"submission", "at", "account", "telephone", "language"}
	for _, field := range fields {
		header = append(header, cell(Text, field))
	}
	if err := out.Write(header); err != nil {
		return err
	}
	for after := ""; ; {
		page, err := store.Submissions(ctx, form, after, exportPage)
		if err != nil {
			return err
		}
		for _, s := range page {
			row := []string{s.ID, s.At.UTC().Format(time.RFC3339), s.Account, cell(Text, show(s.Phone)), s.Language}
			for _, field := range fields {
				text := ""
				if i := slices.IndexFunc(s.Values, func(v Value) bool { return v.Field == field }); i >= 0 {
					text = cell(s.Values[i].Kind, s.Values[i].Text)
				}
				row = append(row, text)
			}
			if err := out.Write(row); err != nil {
				return err
			}
			after = s.ID
		}
		if out.Flush(); out.Error() != nil || len(page) < exportPage {
			return out.Error()
		}
	}
}

// cell is a value as a spreadsheet shows it.
func cell(kind, text string) string {
	if kind == Number {
		return text
	}
	return csvcell.Inert(text)
}
