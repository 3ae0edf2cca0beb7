// Package web carries the console as it was built, or nothing at all: on a
// clean clone the folder holds only a placeholder, so that the program builds
// without Node.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:console/dist
var dist embed.FS

// Console returns the files of the built console, and whether it was built.
func Console() (fs.FS, bool) {
	files, err := fs.Sub(dist, "console/dist")
	if err != nil {
		return nil, false
	}
	_, err = fs.Stat(files, "index.html")
	return files, err == nil
}
