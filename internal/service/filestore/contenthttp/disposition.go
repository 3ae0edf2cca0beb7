package contenthttp

import (
	"mime"
	"net/http"

	"github.com/castalia-org/castalia/internal/service/filestore"
)

// downloaded is what content is served as when its own media type says nothing
// that every reader understands alike.
const downloaded = "application/octet-stream"

// inline reports whether a browser may show a media type in place: none of these
// can run script, and the sandbox holds anyway. What is not named is a download,
// since another browser may know the type as something that runs.
func inline(media string) bool {
	switch media {
	case "text/plain",
		"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp",
		"audio/aac", "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/opus", "audio/wav", "audio/x-wav", "audio/webm",
		"video/mp4", "video/mpeg", "video/ogg", "video/quicktime", "video/webm":
		return true
	}
	return false
}

// present sets how content is shown. A media type that is a list or otherwise no
// media type is not repeated: of a list each browser picks another one.
func present(h http.Header, f filestore.File) {
	media, _, err := mime.ParseMediaType(f.MimeType)
	kind, served := "attachment", f.MimeType
	switch {
	case err != nil || media == "" || !hasSubtype(media):
		served = downloaded
	case inline(media):
		kind = "inline"
	}
	h.Set("Content-Type", served)
	h.Set("Content-Disposition", mime.FormatMediaType(kind, map[string]string{"filename": f.Name}))
}

// hasSubtype reports whether a parsed media type has both its halves: the parser
// lets a bare word through, which is how dispositions are written.
func hasSubtype(media string) bool {
	for i := range len(media) {
		if media[i] == '/' {
			return i > 0 && i < len(media)-1
		}
	}
	return false
}
