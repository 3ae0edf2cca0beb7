package textindex

// answerable is the confidence from which on a question counts as answered.
const answerable = 0.5

// confidence says how likely a passage answers a question, 0 to 1.
func confidence(p plan, c rescored, said reading) float64 {
	if p.total == 0 {
		return 0
	}
	held := int64(0)
	for i, share := range c.matched {
		held += int64(p.groups[i].rarity) * int64(min(share, wholeWeight)) / wholeWeight
	}
	passage := float64(held) / float64(p.total)
	return min(0.5*passage+0.5*said.context, 1)
}

// agreed is the confidence by words and by likeness together: neither alone makes a
// passage an answer, but a good deal of one makes up for a little of the other.
func agreed(words, likeness float64) float64 {
	return (words + min(max(likeness, 0), 1)) / 2
}
