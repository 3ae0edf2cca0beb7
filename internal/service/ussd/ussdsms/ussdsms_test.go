package ussdsms_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
)

func TestPartsAreWhatIsPaidFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 1},
		{strings.Repeat("a", 160), 1},
		{strings.Repeat("a", 161), 2},
		{strings.Repeat("a", 306), 2},
		{strings.Repeat("a", 307), 3},
		{strings.Repeat("€", 80), 1},
		{strings.Repeat("€", 81), 2},
		{strings.Repeat("ж", 70), 1},
		{strings.Repeat("ж", 71), 2},
		{strings.Repeat("ж", 135), 3},
	} {
		if got := ussdsms.Parts(c.text); got != c.want {
			t.Errorf("%d characters of %.3q are %d parts, want %d", len([]rune(c.text)), c.text, got, c.want)
		}
	}
}

func TestRepliesFit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Short.", strings.Repeat("word ", 400), strings.Repeat("слово ", 400), strings.Repeat("[x] ", 400)} {
		got := ussdsms.Fit(text)
		if n := ussdsms.Parts(got); n > 3 || len(text) > 1000 && (n < 3 || !strings.HasSuffix(got, "...")) {
			t.Errorf("%.20q became %d parts: %q", text, n, got)
		}
	}
}

func TestWishes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ussdsms.Wish{
		"STOP": ussdsms.WishStop, " stop. ": ussdsms.WishStop, "Start": ussdsms.WishStart, "stop the pests?": ussdsms.WishNone, "": ussdsms.WishNone,
	} {
		if got := ussdsms.WishOf(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// desk is a store that hands out what it is given once.
type desk struct {
	ussdsms.Store
	received []ussdsms.Incoming
	due      ussdsms.Incoming
	reply    string
	err      error
}

func (d *desk) Receive(_ context.Context, in ussdsms.Incoming) (bool, error) {
	d.received = append(d.received, in)
	return true, nil
}

func (d *desk) AskDue(ctx context.Context, ask func(context.Context, ussdsms.Incoming) (string, error)) error {
	d.reply, d.err = ask(ctx, d.due)
	return nil
}

type nobody struct{}

func (nobody) Sent(ussdsms.Kind, string, int, ussdsms.Cost, time.Duration) {}
func (nobody) Received()                                                   {}
func (nobody) Reported(ussdsms.Kind, ussdsms.State)                        {}

func newService(d *desk) *ussdsms.Service {
	return ussdsms.New(ussdsms.Deps{
		Store: d, Words: ussdsms.Words{Name: "Delphi"}, Observer: nobody{}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Language: func(context.Context, string) (string, error) { return "en", nil },
	})
}

func TestWhatIsTaken(t *testing.T) {
	t.Parallel()
	d := &desk{}
	s := newService(d)
	for _, bad := range [][2]string{{"", "+254700000001"}, {"a/b", "+254700000001"}, {strings.Repeat("x", 101), "+254700000001"}, {"m1", "Safaricom"}, {"m1", ""}} {
		if err := s.Receive(t.Context(), "g", bad[0], bad[1], "Why?"); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q of %q: %v", bad[0], bad[1], err)
		}
	}
	if err := s.Receive(t.Context(), "g", "m1", "+254700000001", " \x00\n "); err != nil || len(d.received) != 0 {
		t.Errorf("a message without words: %v, %v", d.received, err)
	}
	if err := s.Receive(t.Context(), "g", "m1", "254700000001", "Why?\x07 "+strings.Repeat("x ", 2000)); err != nil || len(d.received) != 1 {
		t.Fatalf("%v, %v", d.received, err)
	}
	got := d.received[0]
	if got.ID != "g:m1" || got.Phone != "+254700000001" || !strings.HasPrefix(got.Text, "Why? x") || len(got.Text) > 1500 {
		t.Errorf("%+v", got)
	}
}

type oracle struct {
	answer string
	err    error
	asked  []ussdquestion.Question
}

func (o *oracle) Ask(_ context.Context, q ussdquestion.Question) (string, error) {
	o.asked = append(o.asked, q)
	return o.answer, o.err
}

func TestMessagesAreAnswered(t *testing.T) {
	t.Parallel()
	in := ussdsms.Incoming{ID: "g:m1", Phone: "+254700000001", Text: "Why?"}
	last := in
	last.Last = true
	for _, c := range []struct {
		name  string
		in    ussdsms.Incoming
		o     oracle
		reply string
		fails bool
	}{
		{name: "an answer", in: in, o: oracle{answer: "**Because.**"}, reply: "Because."},
		{name: "enough", in: in, o: oracle{err: &ussdquestion.EnoughError{Questions: 2}}, reply: "You may ask 2 questions a day."},
		{name: "an approval", in: in, o: oracle{err: &ussdquestion.ApprovalError{ID: "1", Text: "Send it?"}}, reply: "Delphi: that needs your approval"},
		{name: "a failure", in: in, o: oracle{err: errors.New("down")}, fails: true},
		{name: "the last failure", in: last, o: oracle{err: errors.New("down")}, reply: "Delphi: sorry"},
	} {
		d := &desk{due: c.in}
		if err := newService(d).Ask(t.Context(), &c.o); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(d.reply, c.reply) || (d.err != nil) != c.fails {
			t.Errorf("%s: %q, %v", c.name, d.reply, d.err)
		}
		if q := c.o.asked[0]; q.Account != "" || q.Phone != in.Phone || q.ID == "" || strings.Contains(q.ID, "700") {
			t.Errorf("%s: asked as %+v", c.name, q)
		}
	}
}

// The oracle is asked to answer in the language that the texts around it are in: the
// number's, which may be one that the program itself does not speak, else the operator's.
func TestTheOracleIsAskedInTheLanguageOfTheReply(t *testing.T) {
	t.Parallel()
	french, _ := words.Shipped().Named("fr")
	for _, c := range []struct {
		usual          *words.Language
		language, want string
	}{
		{nil, "", "en"},
		{french, "", "fr"},
		{french, "sw", "sw"},
		{french, "lg", "lg"},
	} {
		s := newService(&desk{due: ussdsms.Incoming{ID: "g:m1", Phone: "+254700000001", Text: "?"}})
		s.Words.Usual = c.usual
		s.Language = func(context.Context, string) (string, error) { return c.language, nil }
		o := &oracle{answer: "Oui."}
		if err := s.Ask(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if got := o.asked[0].Language; got != c.want {
			t.Errorf("a number that speaks %q: the oracle is asked for %q, want %q", c.language, got, c.want)
		}
	}
}
