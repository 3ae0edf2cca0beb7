// Package filetext reads and changes files as text: windows of lines, exact
// replacements, additions at the end, and what differs between two versions.
//
// It promises that a change is decided against the version that was read, that
// lines and differences are bounded, and that the work ends with the request. It
// refuses what is not text.
package filetext

import (
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Service works on the text of files.
type Service struct {
	files *filestore.Service
	store filestore.Store
}

// New returns a Service.
func New(files *filestore.Service) *Service { return &Service{files, files.Records()} }

// Clip cuts a text at a character border.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
