package analyse

import "unicode/utf8"

// Gram is three neighbouring characters of a term. Grams are ordered as their
// texts are.
type Gram uint64

// gramRune is how many bits of a Gram one character has.
const gramRune = 21

// String returns the three characters.
func (g Gram) String() string {
	const mask = 1<<gramRune - 1
	return string([]rune{rune(g >> (2 * gramRune)), rune(g >> gramRune & mask), rune(g & mask)})
}

// AppendGrams appends the character trigrams of a term with its edges marked, in
// order of occurrence. Terms of one character have none.
func AppendGrams(out []Gram, term string) []Gram {
	if utf8.RuneCountInString(term) < 2 {
		return out
	}
	g, met := Gram('^'), 1
	push := func(r rune) {
		g = (g<<gramRune | Gram(r)) & (1<<(3*gramRune) - 1) //nolint:gosec // characters are not negative
		if met++; met >= 3 {
			out = append(out, g)
		}
	}
	for _, r := range term {
		push(r)
	}
	push('$')
	return out
}

// Distance counts the letters to insert, delete, change or swap with their
// neighbour until one term is the other. It gives up beyond most and says
// most+1.
func Distance(x, y string, most int) int {
	a, b := []rune(x), []rune(y)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > most {
		return most + 1
	}
	before := make([]int, len(a)+1)
	row := make([]int, len(a)+1)
	next := make([]int, len(a)+1)
	for i := range row {
		row[i] = i
	}
	for j := 1; j <= len(b); j++ {
		next[0] = j
		least := j
		for i := 1; i <= len(a); i++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[i] = min(row[i]+1, next[i-1]+1, row[i-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[i] = min(next[i], before[i-2]+1)
			}
			least = min(least, next[i])
		}
		if least > most {
			return most + 1
		}
		before, row, next = row, next, before
	}
	return min(row[len(a)], most+1)
}
