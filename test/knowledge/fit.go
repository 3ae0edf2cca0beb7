package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

const (
	folds = 10  // each question is judged by weights that were fitted without it
	ridge = 2.0 // holds weights down that few questions speak for
	// wantAnswered is the share of questions with an answer that count as answered: the
	// line is where the weights put this share of those that they are fitted to.
	wantAnswered = 0.82
)

// fitEvidence prints the weights that tell questions with an answer from those
// without one, by logistic regression, and what they answer and refuse of questions
// that they were not fitted to. The same questions always give the same weights.
func fitEvidence(w io.Writer, all []outcome) {
	show := func(name string, judge func(i int) float64) {
		scored := slices.Clone(all)
		for i := range scored {
			scored[i].confidence = judge(i)
			scored[i].answered = scored[i].confidence >= textindex.Answerable
		}
		f := sum(scored)
		_, _ = fmt.Fprintf(w, "%s: answered %.3f, refused %.3f; ", name, f.answered, f.refused)
		printCurve(w, scored)
	}
	show("by what is covered", func(i int) float64 {
		return mostOf(all[i], textindex.Evidence.Covered)
	})
	var apart [folds]textindex.Weights
	for fold := range apart {
		apart[fold] = fitted(all, func(i int) bool { return i%folds != fold })
	}
	show("fitted to other questions", func(i int) float64 { return likely(apart[i%folds], all[i]) })
	weights := fitted(all, func(int) bool { return true })
	show("fitted to the same", func(i int) float64 { return likely(weights, all[i]) })
	_, _ = fmt.Fprintf(w, "%.3f\n", weights)
}

func mostOf(o outcome, judge func(textindex.Evidence) float64) float64 {
	best := 0.0
	for _, e := range o.evidence {
		best = max(best, judge(e))
	}
	return best
}

func likely(weights textindex.Weights, o outcome) float64 {
	return mostOf(o, func(e textindex.Evidence) float64 { return e.Likely(weights) })
}

// fitted are the weights for the evidence of the best hits of questions. Both sorts
// of question count the same, however many there are.
func fitted(all []outcome, use func(int) bool) textindex.Weights {
	const n = 3
	var rows [][]float64
	var answers []float64
	var with []outcome
	counts := [2]float64{}
	for i, o := range all {
		if !use(i) || len(o.evidence) == 0 {
			continue
		}
		answer := 0.0
		if o.Kind != unanswerable {
			answer = 1
			with = append(with, o)
		}
		counts[int(answer)]++
		rows = append(rows, []float64{1, o.evidence[0].Missing, o.evidence[0].NamesMissing})
		answers = append(answers, answer)
	}
	scale := deviations(rows)
	weights := make([]float64, n)
	for range 30 {
		// One step of Newton's method.
		system := make([][]float64, n)
		for i := range system {
			system[i] = make([]float64, n+1)
			if i > 0 {
				system[i][i] = ridge * scale[i] * scale[i]
				system[i][n] = -system[i][i] * weights[i]
			}
		}
		for r, row := range rows {
			z := 0.0
			for i, x := range row {
				z += weights[i] * x
			}
			likely := 1 / (1 + math.Exp(-z))
			count := float64(len(rows)) / 2 / counts[int(answers[r])]
			for i, x := range row {
				system[i][n] += count * (answers[r] - likely) * x
				for j, y := range row {
					system[i][j] += count * likely * (1 - likely) * x * y
				}
			}
		}
		for i, step := range solved(system) {
			weights[i] += step
		}
	}
	return putLine(textindex.Weights{Always: weights[0], Missing: weights[1], NamesMissing: weights[2]}, with)
}

// putLine moves the confidence so that the wanted share of questions with an answer
// counts as answered.
func putLine(weights textindex.Weights, with []outcome) textindex.Weights {
	low, high := -20.0, 20.0
	for range 40 {
		weights.Always = (low + high) / 2
		if share(with, func(o outcome) bool { return likely(weights, o) >= textindex.Answerable }) < wantAnswered {
			low = weights.Always
		} else {
			high = weights.Always
		}
	}
	weights.Always = high
	return weights
}

func deviations(rows [][]float64) []float64 {
	out := make([]float64, len(rows[0]))
	for i := range out {
		sum, squares := 0.0, 0.0
		for _, row := range rows {
			sum += row[i]
			squares += row[i] * row[i]
		}
		n := float64(len(rows))
		out[i] = math.Sqrt(max(squares/n-sum*sum/n/n, 1e-6))
	}
	return out
}

// solved solves linear equations, each a row with its right side last.
func solved(rows [][]float64) []float64 {
	n := len(rows)
	for i := range rows {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(rows[k][i]) > math.Abs(rows[pivot][i]) {
				pivot = k
			}
		}
		rows[i], rows[pivot] = rows[pivot], rows[i]
		for k := range rows {
			if k == i {
				continue
			}
			f := rows[k][i] / rows[i][i]
			for j := i; j <= n; j++ {
				rows[k][j] -= f * rows[i][j]
			}
		}
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = rows[i][n] / rows[i][i]
	}
	return out
}
