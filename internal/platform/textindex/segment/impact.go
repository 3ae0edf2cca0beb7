package segment

// Field is a part of a passage that weighs differently from the others.
type Field uint8

// The fields of a passage, and how many there are.
const (
	InBody Field = iota
	InTitle
	InHeadings
	Fields
)

// fieldWeight says what a word in a field is worth (BM25F) and how much the
// field's length takes from it. The average lengths are fixed and not measured:
// passages are cut to a size on purpose, and so what a posting is worth depends
// on its passage alone, never on passages that a reader may not see.
type fieldWeight struct {
	weight  uint64
	average uint64 // words
	pull    uint64 // per cent of the length that counts
}

var fieldWeights = [Fields]fieldWeight{
	InBody:     {weight: 100, average: 120, pull: 45},
	InTitle:    {weight: 160, average: 6, pull: 40},
	InHeadings: {weight: 160, average: 8, pull: 40},
}

// saturation is k1 of BM25: how soon repeated words stop to count, in hundredths.
const saturation = 120

// impact is what a term is worth in a passage: 1 to 255, before its rarity. It
// is computed in whole numbers, so that all machines agree.
func impact(counts, lengths [Fields]int) uint8 {
	const unit = 1 << 12
	var sum uint64
	for f, w := range fieldWeights {
		if counts[f] > 0 {
			length := (100-w.pull)*w.average + w.pull*uint64(lengths[f]) //nolint:gosec // lengths are not negative
			sum += w.weight * uint64(counts[f]) * w.average * unit / length
		}
	}
	return uint8(1 + 254*sum/(sum+saturation*unit/100)) //nolint:gosec // at most 255
}
