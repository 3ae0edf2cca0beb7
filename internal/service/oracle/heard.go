package oracle

// CutTo returns what is left of the parts of an answer when only a beginning of it
// was heard. It never makes a part longer: where an answer and what was heard of it
// differ, what they have in common stays.
func CutTo(parts []string, heard string) []string {
	out := make([]string, len(parts))
	for i, part := range parts {
		n := 0
		for _, c := range part {
			size := len(string(c))
			if n+size > len(heard) || heard[n:n+size] != part[n:n+size] {
				break
			}
			n += size
		}
		out[i], heard = part[:n], heard[n:]
		if n < len(part) {
			heard = ""
		}
	}
	return out
}
