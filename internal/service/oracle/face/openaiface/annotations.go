package openaiface

import (
	"cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// Annotation says that a piece of a text points to a passage, as chat completions do.
type Annotation struct {
	Type        string      `json:"type"`
	URLCitation URLCitation `json:"url_citation"`
}

// URLCitation is where a piece of a text, counted in characters, points to.
type URLCitation struct {
	// Type is for responses, where a citation stands alone.
	Type       string `json:"type,omitempty"`
	StartIndex int    `json:"start_index"`
	EndIndex   int    `json:"end_index"`
	// URL opens the passage for whoever may read it.
	URL   string `json:"url"`
	Title string `json:"title"`
}

// urlCitations are what a text points to.
func urlCitations(base, text string, cited []plugin.Citation) []URLCitation {
	var out []URLCitation
	for _, m := range oracle.Marks(text, cited) {
		out = append(out, URLCitation{
			Type: "url_citation", StartIndex: m.Start, EndIndex: m.End, URL: base + "/knowledge/passages/" + m.Passage, Title: cmp.Or(m.Title, m.Name),
		})
	}
	return out
}

// annotations are the same for chat completions.
func annotations(base, text string, cited []plugin.Citation) []Annotation {
	var out []Annotation
	for _, c := range urlCitations(base, text, cited) {
		c.Type = ""
		out = append(out, Annotation{Type: "url_citation", URLCitation: c})
	}
	return out
}
