package openai

import (
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// manners is how an endpoint wants a model to be asked.
type manners struct {
	// stateless leaves out what the endpoint said for itself.
	stateless bool
	// again only asks once more: the model wrote a call that could not be read.
	again bool
	// effortless sends reasoning_effort "none": the model takes no tools on this
	// wire while it reasons.
	effortless bool
	// completionTokens bounds the answer with max_completion_tokens.
	completionTokens bool
	// strictIDs is Mistral: ids of nine letters, and an answer between a result
	// and the user's next message.
	strictIDs bool
	// signed is Gemini: a call without a signature says that it has none.
	signed bool
	// thoughts is DeepSeek: a call comes back with the thoughts before it.
	thoughts bool
	// cacheKey names the conversation, for a better use of the endpoint's cache.
	cacheKey bool
	// prefilledThinks: answers begin inside of thoughts and have the closing tag only.
	prefilledThinks bool
	// plain asks for no encrypted reasoning: the model has none.
	plain bool
}

// at adds what is known of a host.
func (m manners) at(host string) manners {
	is := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	if is("api.openai.com") || azure(host) {
		m.completionTokens, m.cacheKey = true, true
	}
	m.strictIDs = m.strictIDs || is("mistral.ai")
	m.signed = m.signed || is("generativelanguage.googleapis.com")
	m.thoughts = m.thoughts || is("deepseek.com")
	return m
}

func (m manners) prefilled() manners {
	m.prefilledThinks = true
	return m
}

// after is the lesson of a refusal, and whether it holds for later requests.
func (m manners) after(e *model.Error) (next manners, keep bool) {
	text := strings.ToLower(e.Detail)
	has := func(words ...string) bool {
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	}
	next = m
	switch {
	case has("encrypted content is not supported"):
		next.plain = true
	case has("missing", "thought_signature"):
		next.signed = true
	case has("reasoning_content", "passed back"):
		next.thoughts = true
	case has("reasoning_effort", "tools"):
		next.effortless = true
	case has("max_tokens", "max_completion_tokens"):
		next.completionTokens = true
	case has("tool call id", "length of 9"), has("unexpected role 'user' after role 'tool'"):
		next.strictIDs = true
	case has("tool_use_failed"), has("failed_generation"), has("failed to call a function"):
		next.again = true
		return next, false
	case wire.RefusesState(e):
		next.stateless = true
		return next, false
	}
	return next, true
}
