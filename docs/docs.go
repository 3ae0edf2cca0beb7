// Package docs holds the guides, so that the program can answer from them.
package docs

import "embed"

// Guides are the Markdown files for people.
//
//go:embed guides/*.md
var Guides embed.FS
