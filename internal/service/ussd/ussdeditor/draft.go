package ussdeditor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const (
	// maxText bounds a draft, as the document of menus is bounded.
	maxText  = 1 << 20
	maxParts = 64
)

// Part is a menu of a draft, or a part that menus share.
type Part struct {
	// Line is where it begins in the text.
	Line int `json:"line"`
	Menu Map `json:"menu"`
	// Comments are what stands above fields, by the path of each.
	Comments map[string][]string `json:"comments,omitempty"`
}

// Size is how much of the air a page takes.
type Size struct {
	Used  int    `json:"used"`
	Limit int    `json:"limit"`
	Unit  string `json:"unit" jsonschema:"septets, or characters where the GSM alphabet does not suffice"`
}

// Measured is a menu that passed the check.
type Measured struct {
	Name  string   `json:"name"`
	Codes []string `json:"codes,omitempty"`
	// Pages has the size of each page of a screen, by screen and language, with every
	// value as long as it may be.
	Pages map[string]map[string][]Size `json:"pages"`
}

// Draft is a text of menus as an editor sees it.
type Draft struct {
	// Text is the draft, formatted when it came as parts.
	Text string `json:"text"`
	// Parts is the draft as trees; none when Plain says why it is edited as text alone.
	Parts []Part `json:"parts"`
	Plain string `json:"plain,omitempty"`
	// Issues is what the check says; none: it may be published.
	Issues []ussdmenu.Issue `json:"issues"`
	Menus  []Measured       `json:"menus,omitempty"`
	// Runs are the actions that a menu may run, with what each answers; Guards and Kinds
	// the words for conditions and for what is typed.
	Runs   map[string][]string `json:"runs"`
	Guards []string            `json:"guards"`
	Kinds  []string            `json:"kinds"`
}

// Editor reads drafts for the networks of a deployment.
type Editor struct{ limits ussdmenu.Limits }

// New returns an editor.
func New(limits ussdmenu.Limits) Editor { return Editor{limits} }

// Read is the draft of a text. The error is that of the context.
func (e Editor) Read(ctx context.Context, text []byte) (Draft, error) {
	parts, err := trees(ctx, text)
	if ctx.Err() != nil {
		return Draft{}, ctx.Err()
	}
	d := Draft{
		Text: string(text), Parts: parts, Runs: map[string][]string{},
		Guards: ussdmenu.Facts(math.MaxUint16).Names(), Kinds: ussdmenu.Kinds(),
	}
	for run, spec := range ussdaction.Specs() {
		d.Runs[run] = spec.Outcomes
	}
	if err != nil {
		d.Plain, d.Parts = err.Error(), []Part{}
	}
	book, err := ussd.ParseMenus(ctx, "menu", text, e.limits)
	if ctx.Err() != nil {
		return Draft{}, ctx.Err()
	}
	if d.Issues = issuesOf(err); len(d.Issues) > 0 {
		return d, nil
	}
	for _, m := range book.Menus() {
		measured, err := e.measure(ctx, m)
		if err != nil {
			return Draft{}, err
		}
		d.Menus = append(d.Menus, measured)
	}
	return d, nil
}

// issuesOf is what the check says, none when it has nothing to say.
func issuesOf(err error) []ussdmenu.Issue {
	if err == nil {
		return []ussdmenu.Issue{}
	}
	if refused, ok := errors.AsType[*ussdmenu.CheckError](err); ok && len(refused.Issues) > 0 {
		return refused.Issues
	}
	return []ussdmenu.Issue{{File: "menu", Line: 1, Message: err.Error()}}
}

// Write is the draft of trees.
func (e Editor) Write(ctx context.Context, parts []Part) (Draft, error) {
	text, err := join(ctx, parts)
	if err != nil {
		return Draft{}, err
	}
	return e.Read(ctx, text)
}

func join(ctx context.Context, parts []Part) ([]byte, error) {
	if len(parts) == 0 || len(parts) > maxParts {
		return nil, fault.Newf(fault.Invalid, "A draft has 1 to %d parts", maxParts)
	}
	texts := make([][]byte, len(parts))
	for i, p := range parts {
		lines := 0
		for _, above := range p.Comments {
			lines += len(above)
		}
		if lines > maxComments || len(p.Comments) > maxComments {
			return nil, fault.Newf(fault.Invalid, "A part has at most %d comments", maxComments)
		}
		var err error
		if texts[i], err = writeTree(p.Menu, p.Comments); err != nil {
			return nil, fault.New(fault.TooLarge, "A draft may have at most 1 MiB")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	text := bytes.Join(texts, []byte("---\n"))
	if len(text) > maxText {
		return nil, fault.New(fault.TooLarge, "A draft may have at most 1 MiB")
	}
	return text, nil
}

// Format returns a text in the one form that a tree is written in. The error says why
// it is better left as it is.
func Format(ctx context.Context, text []byte) ([]byte, error) {
	parts, err := trees(ctx, text)
	if err != nil {
		return nil, err
	}
	return join(ctx, parts)
}

// trees reads the parts of a text, and makes sure that they say what it says.
func trees(ctx context.Context, text []byte) ([]Part, error) {
	if len(text) > maxText {
		return nil, errors.New("the text is larger than 1 MiB")
	}
	split := ussdmenu.Split(text)
	if len(split) > maxParts {
		return nil, fmt.Errorf("the text has more than %d parts", maxParts)
	}
	parts := make([]Part, 0, len(split))
	for _, p := range split {
		if len(split) > 1 && len(bytes.TrimSpace(p.Text)) == 0 {
			continue
		}
		tree, comments, err := readTree(p.Text)
		if err != nil {
			return nil, ussdmenu.SyntaxError("menu", p.Line, err)
		}
		again, err := writeTree(tree, comments)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !same(p.Text, again) {
			return nil, errors.New("something in it can be written as text alone")
		}
		parts = append(parts, Part{Line: p.Line, Menu: tree, Comments: comments})
	}
	return parts, nil
}

// same reports whether two texts are the same menu. Texts that are none are the same
// when neither is one.
func same(a, b []byte) bool {
	var x, y ussdmenu.Source
	errA := yamlfile.Unmarshal(a, &x, maxText, yaml.Strict())
	errB := yamlfile.Unmarshal(b, &y, maxText, yaml.Strict())
	if errA != nil || errB != nil {
		return errA != nil && errB != nil
	}
	return reflect.DeepEqual(x, y)
}

func (e Editor) measure(ctx context.Context, m *ussdmenu.Menu) (Measured, error) {
	limit := e.limits.LeastOf(m.Codes()).OrDefault()
	out := Measured{Name: m.Name(), Codes: m.Codes(), Pages: map[string]map[string][]Size{}}
	for _, id := range m.Screens() {
		out.Pages[id] = map[string][]Size{}
		for _, lang := range m.Languages() {
			if ctx.Err() != nil {
				return Measured{}, ctx.Err()
			}
			for _, z := range m.LongestPages(id, lang, limit) {
				out.Pages[id][lang] = append(out.Pages[id][lang], sizeOf(z, limit))
			}
		}
	}
	return out, nil
}

func sizeOf(z ussdmenu.Size, limit ussdmenu.Limit) Size {
	if z.UCS2 {
		return Size{z.Units, limit.Units, "characters"}
	}
	return Size{z.Septets, limit.Septets, "septets"}
}

// bookOf reads what is tried.
func (e Editor) bookOf(ctx context.Context, text []byte) (*ussdbook.Book, error) {
	book, err := ussd.ParseMenus(ctx, "menu", text, e.limits)
	if refused, ok := errors.AsType[*ussdmenu.CheckError](err); ok && len(refused.Issues) > 0 {
		return nil, fault.Newf(fault.Invalid, "The draft has to pass the check before it is tried: %s", refused.Issues[0].Message)
	}
	return book, err
}
