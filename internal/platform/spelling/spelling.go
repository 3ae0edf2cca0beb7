// Package spelling finds the name that somebody meant when they typed another.
package spelling

// Nearest returns the candidate that needs the fewest changes to become name, the
// first of them by name, and how many changes those are; "" when there is none.
func Nearest(name string, candidates []string) (best string, changes int) {
	for _, c := range candidates {
		if d := distance(name, c); best == "" || d < changes || d == changes && c < best {
			best, changes = c, d
		}
	}
	return best, changes
}

// Meant is Nearest for people: "" unless the two look alike.
func Meant(name string, candidates []string) string {
	best, changes := Nearest(name, candidates)
	if best == "" || changes > 2 || changes >= len(name) || changes >= len(best) {
		return ""
	}
	return best
}

// distance is the edit distance between two short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
