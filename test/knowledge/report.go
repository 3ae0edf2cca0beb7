package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// The bars, for the ranking by words alone.
const (
	barWords      = 0.9
	barParaphrase = 0.75
	barRefused    = 0.8  // of what nothing answers, while
	barAnswered   = 0.95 // of the rest is answered
	firstHits     = 5
)

// report prints a table for the questions that may be looked at and one for those
// that are held out, and reports whether all bars are met.
func report(stdout io.Writer, all []outcome) (met bool) {
	met = true
	for _, held := range []bool{false, true} {
		these := chosen(all, func(o outcome) bool { return o.Held == held })
		if len(these) == 0 {
			continue
		}
		name := "open"
		if held {
			name = "held-out"
		}
		_, _ = fmt.Fprintf(stdout, "== %s\n", name)
		w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "kind\tlanguage\tquestions\trecall@5\tMRR\tquoted\tanswered\t")
		for _, kind := range []string{inItsWords, inOtherWords, unanswerable} {
			ofKind := chosen(these, func(o outcome) bool { return o.Kind == kind })
			for _, language := range append(languagesOf(ofKind), "") {
				printRow(w, kind, language, chosen(ofKind, func(o outcome) bool {
					return language == "" || o.Language == language
				}))
			}
		}
		_ = w.Flush()
		w = tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(w, "language\tanswered\trefused\trefused at 95% answered\t")
		for _, language := range append(languagesOf(these), "") {
			some := chosen(these, func(o outcome) bool { return language == "" || o.Language == language })
			f := sum(some)
			_, _ = fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%.3f\t\n", cmp.Or(language, "all"), f.answered, f.refused, f.refusedAt)
		}
		_ = w.Flush()
		printCurve(stdout, these)
		f := sum(these)
		_, _ = fmt.Fprintf(stdout, "BenchmarkKnowledge/%s 1 %.4f recall@5-words %.4f recall@5-paraphrase %.4f MRR %.4f answered %.4f refused %.4f refused-at-95\n\n",
			name, f.words, f.paraphrase, f.reciprocal, f.answered, f.refused, f.refusedAt)
		met = met && f.words >= barWords && f.paraphrase >= barParaphrase && f.refusedAt >= barRefused
	}
	return met
}

func chosen(all []outcome, which func(outcome) bool) []outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return !which(o) })
}

func languagesOf(all []outcome) []string {
	var out []string
	for _, o := range all {
		if !slices.Contains(out, o.Language) {
			out = append(out, o.Language)
		}
	}
	slices.Sort(out)
	return out
}

// figures are shares, 0 to 1.
type figures struct {
	words, paraphrase, reciprocal float64
	// answered and refused are what the service decided; refusedAt is what would be
	// refused if the line were where the bar's share of the others is answered.
	answered, refused, refusedAt float64
}

func sum(all []outcome) figures {
	with := chosen(all, func(o outcome) bool { return o.Kind != unanswerable })
	without := chosen(all, func(o outcome) bool { return o.Kind == unanswerable })
	answered := func(o outcome) bool { return o.answered }
	return figures{
		words:      share(chosen(with, func(o outcome) bool { return o.Kind == inItsWords }), found),
		paraphrase: share(chosen(with, func(o outcome) bool { return o.Kind == inOtherWords }), found),
		reciprocal: meanReciprocal(with),
		answered:   share(with, answered),
		refused:    1 - share(without, answered),
		refusedAt:  refusedAt(with, without, barAnswered),
	}
}

// refusedAt is what would be refused of questions without an answer if the line were
// where a share of those with one are answered.
func refusedAt(with, without []outcome, answered float64) float64 {
	line := lineFor(with, answered)
	return share(without, func(o outcome) bool { return o.confidence < line })
}

// printCurve says what each place of the line would refuse.
func printCurve(w io.Writer, all []outcome) {
	with := chosen(all, func(o outcome) bool { return o.Kind != unanswerable })
	without := chosen(all, func(o outcome) bool { return o.Kind == unanswerable })
	_, _ = fmt.Fprint(w, "refused, if so many are answered:")
	for _, answered := range []float64{0.5, 0.6, 0.7, 0.8, 0.9, barAnswered} {
		_, _ = fmt.Fprintf(w, "  %.0f%%: %.3f", 100*answered, refusedAt(with, without, answered))
	}
	_, _ = fmt.Fprintln(w)
}

func found(o outcome) bool { return o.rank > 0 && o.rank <= firstHits }

func share(all []outcome, is func(outcome) bool) float64 {
	return float64(len(chosen(all, is))) / float64(max(len(all), 1))
}

func meanReciprocal(all []outcome) float64 {
	total := 0.0
	for _, o := range all {
		if o.rank > 0 {
			total += 1 / float64(o.rank)
		}
	}
	return total / float64(max(len(all), 1))
}

// lineFor is the confidence that this share of questions reaches.
func lineFor(with []outcome, answered float64) float64 {
	if len(with) == 0 {
		return 0
	}
	var all []float64
	for _, o := range with {
		all = append(all, o.confidence)
	}
	slices.Sort(all)
	return all[int(float64(len(all))*(1-answered))]
}

func printRow(w io.Writer, kind, language string, all []outcome) {
	if len(all) == 0 {
		return
	}
	_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t\n", kind, cmp.Or(language, "all"), len(all), share(all, found), meanReciprocal(all),
		share(all, func(o outcome) bool { return o.quoted }), share(all, func(o outcome) bool { return o.answered }))
}

// listMisses names what went wrong, and nothing that is held out.
func listMisses(stdout io.Writer, all []outcome) {
	for _, o := range all {
		if o.Held {
			continue
		}
		if o.Kind == unanswerable && o.answered || o.Kind != unanswerable && (!found(o) || !o.answered) {
			_, _ = fmt.Fprintf(stdout, "%s %s rank %d confidence %.3f: %s\n    want %s: %s\n    top  %s\n", o.ID, o.Kind, o.rank, o.confidence, o.Question,
				o.Document, o.Answer, strings.Join(strings.Fields(o.top), " "))
		}
	}
}
