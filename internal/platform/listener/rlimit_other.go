//go:build !unix

package listener

import "math"

// Budget is unlimited where the limit of open files is not known.
func Budget() int { return math.MaxInt32 }
