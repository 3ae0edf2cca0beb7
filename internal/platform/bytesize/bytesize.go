// Package bytesize writes numbers of bytes for people, everywhere in the same
// units: those of 1024, as settings have them.
package bytesize

import "strconv"

// Text writes a size, such as "512 B" or "1.5 GiB".
func Text(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if size /= 1 << 10; size < 1<<10-0.05 {
			break
		}
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + unit
}
