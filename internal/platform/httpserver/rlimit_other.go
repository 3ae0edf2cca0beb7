//go:build !unix

package httpserver

import "math"

// connBudget is unlimited where the limit of open files is not known.
func connBudget() int { return math.MaxInt32 }
