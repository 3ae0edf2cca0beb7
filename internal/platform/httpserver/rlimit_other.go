//go:build !unix

package httpserver

// defaultMaxConns is a guess where the limit of open files is not known.
func defaultMaxConns() int { return 4096 }
