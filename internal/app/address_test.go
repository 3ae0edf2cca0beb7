package app

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/config"
)

func TestPublicURLIsTheBeginningOfLinks(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"": true, "https://castalia.example": true, "http://10.0.0.1:3000/castalia/": true,
		"ftp://castalia.example": false, "https://": false, "https://user@castalia.example": false,
		"https://castalia.example?x=1": false, "https://castalia.example#x": false, "castalia.example:3000": false,
	} {
		var setting config.URL
		if err := setting.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := checkPublicURL(setting); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
