package httprule

import (
	"net/url"
	"slices"
	"strings"
)

// Router finds the routes of a path. It is built once and then only read, so
// that any number of goroutines may use it; a new table is a new Router.
type Router struct {
	root   trieNode
	verbs  map[string]bool
	routes []*Route
}

// trieNode is one position in the templates. Literal children are looked at
// before the single wildcard, and that before the deep one.
type trieNode struct {
	literals map[string]*trieNode
	star     *trieNode
	deep     *trieNode
	leaves   []leaf
}

type leaf struct {
	verb  string
	route *Route
}

// Add registers a route. Routes of the same shape are tried in the order in
// which they were added.
func (r *Router) Add(route *Route) {
	n := &r.root
	for _, s := range route.Template.segments {
		n = n.child(s)
	}
	n.leaves = append(n.leaves, leaf{route.Template.verb, route})
	if v := route.Template.verb; v != "" {
		if r.verbs == nil {
			r.verbs = make(map[string]bool)
		}
		r.verbs[v] = true
	}
	r.routes = append(r.routes, route)
}

// Routes returns every route in the order in which they were added. The caller
// must not change the slice.
func (r *Router) Routes() []*Route { return r.routes }

func (n *trieNode) child(s segment) *trieNode {
	switch s.kind {
	case star:
		if n.star == nil {
			n.star = &trieNode{}
		}
		return n.star
	case deepStar:
		if n.deep == nil {
			n.deep = &trieNode{}
		}
		return n.deep
	default:
		if n.literals == nil {
			n.literals = make(map[string]*trieNode)
		}
		c := n.literals[s.text]
		if c == nil {
			c = &trieNode{}
			n.literals[s.text] = c
		}
		return c
	}
}

// Match is one way to read a path.
type Match struct {
	Route    *Route
	segments []string
}

// Find calls yield for every route that matches the escaped path, the most
// specific first, until yield returns false. The work is bounded by the number
// of templates times the number of segments.
func (r *Router) Find(escapedPath string, yield func(Match) bool) {
	rest, ok := strings.CutPrefix(escapedPath, "/")
	if !ok || strings.Count(rest, "/") >= maxSegments {
		return
	}
	segments := splitPath(make([]string, 0, strings.Count(rest, "/")+1), rest)
	if len(segments) == 0 {
		r.root.find(segments, 0, "", yield)
		return
	}
	// A colon in the last segment is a verb only when some template says so: a
	// DID is full of colons.
	if len(r.verbs) > 0 {
		last := segments[len(segments)-1]
		if i := strings.LastIndexByte(last, ':'); i >= 0 && r.verbs[last[i+1:]] {
			trimmed := slices.Clone(segments)
			trimmed[len(trimmed)-1] = last[:i]
			if !r.root.find(trimmed, 0, last[i+1:], yield) {
				return
			}
		}
	}
	r.root.find(segments, 0, "", yield)
}

// CanonicalPath spells every segment of an escaped path in the one usual way,
// so that rules about paths cannot be avoided by escaping letters.
func CanonicalPath(escaped string) string {
	if !strings.ContainsFunc(escaped, unusual) {
		return escaped
	}
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		if plain, err := unescapeSegment(s); err == nil {
			segments[i] = url.PathEscape(plain)
		}
	}
	return strings.Join(segments, "/")
}

// unusual reports whether a character of a path is escaped or may be.
func unusual(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return !strings.ContainsRune("/-_.~$&+:=@", c)
}

func splitPath(dst []string, rest string) []string {
	if rest == "" {
		return dst
	}
	for {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return append(dst, rest)
		}
		dst = append(dst, rest[:i])
		rest = rest[i+1:]
	}
}

// find reports whether the search should go on.
func (n *trieNode) find(segments []string, at int, verb string, yield func(Match) bool) bool {
	if at == len(segments) {
		for _, l := range n.leaves {
			if l.verb == verb && !yield(Match{l.route, segments}) {
				return false
			}
		}
	} else {
		if n.literals != nil {
			text, err := unescapeSegment(segments[at])
			if err != nil {
				return true
			}
			if c := n.literals[text]; c != nil && !c.find(segments, at+1, verb, yield) {
				return false
			}
		}
		// A wildcard takes no empty segment: "/ixo/entity/" names no entity.
		if n.star != nil && segments[at] != "" && !n.star.find(segments, at+1, verb, yield) {
			return false
		}
	}
	if n.deep != nil {
		// The shortest reach first: what follows the wildcard is then tried
		// before the wildcard that takes all the rest.
		for end := at; end <= len(segments); end++ {
			if !n.deep.find(segments, end, verb, yield) {
				return false
			}
		}
	}
	return true
}

// Near returns up to n templates that resemble the path, the closest first, to
// be named where nothing was found. What is much less alike than the closest
// is left out.
func (r *Router) Near(escapedPath string, n int) []string {
	segments := splitPath(nil, strings.TrimPrefix(escapedPath, "/"))
	if len(segments) > maxSegments {
		segments = segments[:maxSegments]
	}
	type scored struct {
		text  string
		score int
	}
	var best []scored
	for _, route := range r.routes {
		if s := resemblance(route.Template.segments, segments); s > 0 {
			best = append(best, scored{route.Template.source, s})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return b.score - a.score })
	var out []string
	for _, b := range best {
		if len(out) == n || 3*b.score < 2*best[0].score {
			break
		}
		if !slices.Contains(out, b.text) {
			out = append(out, b.text)
		}
	}
	return out
}

// resemblance counts the shared leading segments, and gives something for
// shared literals in other places and for an equal length.
func resemblance(template []segment, path []string) int {
	score, leading := 0, true
	for i, s := range template {
		switch {
		case i < len(path) && s.kind == literal && s.text == path[i]:
			if leading {
				score += 4
			}
			score += 2
		case i < len(path) && s.kind == literal && leading && mistyped(s.text, path[i]):
			score += 4
		case i < len(path) && s.kind != literal && leading && score > 0:
			score++
		default:
			leading = false
			if s.kind == literal && slices.Contains(path, s.text) {
				score += 3
			}
		}
	}
	if score > 0 && len(template) == len(path) {
		score++
	}
	return score
}

// maxTyped is the longest word that is compared letter by letter.
const maxTyped = 64

// mistyped reports whether a word may have been meant as another: at most two
// letters are too many, missing or wrong, and fewer in short words.
func mistyped(meant, typed string) bool {
	most := min(2, len(meant)/3)
	if len(typed) > maxTyped || len(meant) > maxTyped || max(len(meant)-len(typed), len(typed)-len(meant)) > most {
		return false
	}
	var rows [2][maxTyped + 1]int // distances of the beginnings
	for j := range len(typed) + 1 {
		rows[0][j] = j
	}
	for i := range len(meant) {
		last, row := &rows[i%2], &rows[(i+1)%2]
		row[0] = i + 1
		for j := range len(typed) {
			wrong := last[j]
			if meant[i] != typed[j] {
				wrong++
			}
			row[j+1] = min(wrong, last[j+1]+1, row[j]+1)
		}
	}
	return rows[len(meant)%2][len(typed)] <= most
}
