package filestorehttp

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// number reads a query parameter that must be at least low; absent is the
// default, and what is above high becomes high.
func number(r *http.Request, name string, low, absent, high int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil && strings.Trim(text, "0123456789") == "" {
		return high, nil // digits only: larger than an int
	}
	if err != nil || n < low {
		return 0, fault.Newf(fault.Invalid, "%s must be a number of at least %d", name, low)
	}
	return min(n, high), nil
}

// maxOffset bounds paging by offset, whose cost grows with it.
const maxOffset = 10_000_000

func page(r *http.Request) (filestore.Page, error) {
	limit, err := number(r, "limit", 0, filestore.DefaultPage, filestore.MaxPage)
	if err != nil {
		return filestore.Page{}, err
	}
	offset, err := number(r, "offset", 0, 0, maxOffset)
	return filestore.Page{Limit: limit, Offset: offset}, err
}

// pathOf reads the parameter path, which must be there.
func pathOf(r *http.Request) (string, error) {
	v := r.URL.Query().Get("path")
	if v == "" {
		return "", errNoPath()
	}
	return v, nil
}

func errNoPath() error { return fault.New(fault.Invalid, "the parameter path is missing") }
