package anthropic

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// manners is how an endpoint wants a model to be asked.
type manners struct {
	// stateless leaves out what the endpoint said for itself.
	stateless bool
	// unbound does not say what is to happen with thoughts behind another beginning.
	unbound bool
	// plain does not speak of thinking at all.
	plain bool
	// unmarked leaves out the marks of what is worth keeping.
	unmarked bool
	// most is the longest answer of the model, when ours was too long.
	most int
}

var (
	version = regexp.MustCompile(`claude-[a-z]+-(\d+)(?:-(\d{1,2}))?(?:$|[^0-9])`)
	longest = regexp.MustCompile(`max_tokens: [\d,]+ > ([\d,]+)`)
)

// thinks reports whether a model thinks as it sees fit (5 and later), and whether
// its thoughts are bound to what came before them (after 5.0).
func thinks(id string) (adaptive, bound bool) {
	m := version.FindStringSubmatch(id)
	if m == nil {
		return false, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major >= 5, major > 5 || major == 5 && minor >= 1
}

// after is the lesson of a refusal, and whether it holds for later requests.
func (m manners) after(e *model.Error) (next manners, keep bool) {
	text := strings.ToLower(e.Detail)
	next = m
	switch limit := longest.FindStringSubmatch(text); {
	case limit != nil:
		next.most, _ = strconv.Atoi(strings.ReplaceAll(limit[1], ",", ""))
	case strings.Contains(text, "block_binding"), strings.Contains(text, "anthropic-beta"):
		next.unbound = true
	case wire.RefusesState(e):
		next.stateless = true
		return next, false
	case strings.Contains(text, "cache_control"):
		next.unmarked = true
	case strings.Contains(text, "adaptive"), strings.HasPrefix(text, "thinking"):
		next.plain = true
	}
	return next, true
}
