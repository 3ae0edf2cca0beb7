package facehttp

import (
	"errors"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/plugin/strictjson"
)

// MaxBody bounds a request: pictures come inside.
const MaxBody = 8 << 20

// MaxValues bounds the values of a request. A full one, with the schemas of many tools
// and their results, has some tens of thousands.
const MaxValues = 100_000

// ReadBody decodes a request.
func ReadBody(w http.ResponseWriter, r *http.Request, into any) error {
	err := httpserver.ReadJSON(w, r, into, httpserver.AnyMedia)
	if _, crowded := errors.AsType[*strictjson.CrowdError](err); crowded {
		return fault.From(err).WithCode("context_length_exceeded") // as clients of these faces know it
	}
	return err
}
