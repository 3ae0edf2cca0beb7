package face

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// Content reads the content of a message: a text, or a list of parts, of which read makes
// a text or, where shown, a picture. What a model cannot be shown is named by it, so that
// the model can say so. ok is false where it is neither.
func Content[P any](raw json.RawMessage, read func(part P) (text string, image plugin.Image, shown bool),
) (text string, images []plugin.Image, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &text) == nil {
		return text, nil, true
	}
	var parts []P
	if strictjson.Unmarshal(raw, &parts) != nil {
		return "", nil, false
	}
	var texts []string
	for _, p := range parts {
		text, image, shown := read(p)
		if shown {
			images = append(images, image)
		} else {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n"), images, true
}
