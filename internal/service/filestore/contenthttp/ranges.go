package contenthttp

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a request for ranges: how many it may name, and how many are sent.
// Each part that is sent opens the content anew.
const (
	maxRangesAsked = 1000
	maxRangesSent  = 16
)

// byteRange is a part of the content, with both ends in it.
type byteRange struct{ first, last int64 }

// FewRanges is a request that asks for few parts of content of a size, or for all of
// it, whatever its client asked for.
func FewRanges(r *http.Request, size int64) *http.Request {
	asked := r.Header.Get("Range")
	if asked == "" {
		return r
	}
	return withRange(r, plainRanges(asked, size))
}

// withRange is a request that asks for other ranges; an empty text asks for all.
func withRange(r *http.Request, ranges string) *http.Request {
	r = r.WithContext(r.Context()) // a copy
	r.Header = r.Header.Clone()
	if r.Header.Set("Range", ranges); ranges == "" {
		r.Header.Del("Range")
	}
	return r
}

// plainRanges reads a Range header for content of a size and writes it anew with
// few ranges that do not overlap. It is empty when the whole content is to be sent
// instead: for units that are not bytes (RFC 9110 wants them ignored), and for
// more ranges than are served. What is no list of ranges, or names none that
// exists, is returned as it is, to be refused.
func plainRanges(header string, size int64) string {
	unit, list, ok := strings.Cut(header, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return ""
	}
	if strings.Count(list, ",") >= maxRangesAsked {
		return ""
	}
	var ranges []byteRange
	for spec := range strings.SplitSeq(list, ",") {
		if spec = strings.Trim(spec, " \t"); spec == "" {
			continue
		}
		r, exists, ok := parseRange(spec, size)
		if !ok {
			return header
		}
		if exists {
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 {
		return header
	}
	ranges = coalesce(ranges)
	if len(ranges) > maxRangesSent {
		return ""
	}
	specs := make([]string, len(ranges))
	for i, r := range ranges {
		specs[i] = fmt.Sprintf("%d-%d", r.first, r.last)
	}
	return "bytes=" + strings.Join(specs, ",")
}

// parseRange reads one range; exists is false when it lies beyond the content.
func parseRange(spec string, size int64) (r byteRange, exists, ok bool) {
	from, to, ok := strings.Cut(spec, "-")
	if !ok {
		return byteRange{}, false, false
	}
	from, to = strings.Trim(from, " \t"), strings.Trim(to, " \t")
	if from == "" { // the last bytes
		n, ok := position(to)
		return byteRange{max(size-n, 0), size - 1}, ok && n > 0 && size > 0, ok
	}
	first, ok := position(from)
	if !ok {
		return byteRange{}, false, false
	}
	last := size - 1
	if to != "" {
		if last, ok = position(to); !ok || last < first {
			return byteRange{}, false, false
		}
	}
	return byteRange{first, min(last, size-1)}, first < size, true
}

// position reads a number of digits alone.
func position(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && text[0] != '+'
}

// coalesce joins ranges that overlap or touch. Where none do, they stay in the
// order in which they were asked for.
func coalesce(asked []byteRange) []byteRange {
	sorted := slices.SortedFunc(slices.Values(asked), func(a, b byteRange) int { return cmp.Compare(a.first, b.first) })
	out := sorted[:1]
	for _, r := range sorted[1:] {
		if end := &out[len(out)-1]; r.first <= end.last+1 {
			end.last = max(end.last, r.last)
			continue
		}
		out = append(out, r)
	}
	if len(out) == len(asked) {
		return asked
	}
	return out
}
