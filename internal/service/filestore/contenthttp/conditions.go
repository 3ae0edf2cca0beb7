package contenthttp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Condition reads If-Match and If-None-Match.
func Condition(r *http.Request) (filestore.Condition, error) {
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

// HasTag reports whether the reader has the answer with the tag already, by
// If-None-Match.
func HasTag(r *http.Request, tag string) (bool, error) {
	list, star, err := tags(r.Header.Values("If-None-Match"))
	return star || slices.Contains(list, tag), err
}
