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

// condition reads If-Match and If-None-Match.
func condition(r *http.Request) (filestore.Condition, error) {
	var c filestore.Condition
	match, any, err := tags(r.Header.Values("If-Match"))
	if err != nil {
		return c, err
	}
	c.Match, c.Exists = match, any
	c.NoMatch, c.None, err = tags(r.Header.Values("If-None-Match"))
	return c, err
}

// tags reads a list of entity tags, or *. Weak tags compare like strong ones:
// an ETag here is a CID, which is as strong as it gets.
func tags(values []string) (list []string, star bool, err error) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part = strings.TrimSpace(part)
			switch part {
			case "":
			case "*":
				star = true
			default:
				part = strings.TrimPrefix(part, "W/")
				tag, ok := strings.CutPrefix(part, `"`)
				if !ok || !strings.HasSuffix(tag, `"`) || len(tag) < 2 {
					return nil, false, fault.New(fault.Invalid, "entity tags are written in double quotes")
				}
				list = append(list, strings.TrimSuffix(tag, `"`))
			}
		}
	}
	if len(list) > 100 {
		return nil, false, fault.New(fault.Invalid, "too many entity tags")
	}
	return list, star, nil
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
