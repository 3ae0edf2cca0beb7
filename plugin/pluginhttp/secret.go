package pluginhttp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/plugin"
)

// CheckBearer compares the request's bearer with a secret, in the same time
// whatever is wrong. An empty secret lets nobody in. The refusal is a 401 with the
// text; the host counts it as a failed authentication of that address.
func CheckBearer(r *http.Request, secret, refusal string) error {
	given := ""
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(token)
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 || secret == "" {
		return plugin.Errorf(http.StatusUnauthorized, "%s", refusal)
	}
	return nil
}
