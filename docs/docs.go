// Package docs holds the documentation, so that the program can answer from it and
// show it.
package docs

import "embed"

// Guides are the Markdown files for people.
//
//go:embed guides/*.md
var Guides embed.FS

// Pages are all that the program shows: the guides, what they refer to, and pictures.
//
//go:embed README.md guides/*.md reference/*.md images/*
var Pages embed.FS
