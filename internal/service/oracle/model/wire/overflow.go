package wire

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// notOverflow are words of refusals that speak of length or tokens and mean
// something else.
var notOverflow = []string{"rate limit", "rate_limit", "per minute", "throttl", "too many requests", "string_above_max_length", "tool_calls["}

// overflowWords are how endpoints say that a request does not fit, in lower case.
var overflowWords = []string{
	"context_length", "maximum context length", "exceeds the context window", // OpenAI, Azure, OpenRouter, DeepSeek, vLLM
	"prompt is too long", "exceed context limit", "request_too_large", // Anthropic
	"exceeds the maximum number of tokens allowed",           // Gemini
	"maximum prompt length is",                               // xAI
	"reduce the length of the messages", "current length is", // Groq, Cerebras
	"is longer than the maximum model length", "maximum context", // vLLM
	"exceed_context_size", "exceeds the available context size", // llama.cpp
	"context size has been exceeded",                                  // llama.cpp, in the stream
	"longer than the context length currently available",              // Ollama
	"exceeded max context length", "input length exceeds the context", // Ollama
	"greater than the context length", "context the overflows", "cannot truncate prompt with n_keep", // LM Studio
	"is longer than the model's context length",               // Together
	"input is too long for requested model", "input too long", // Bedrock, Vercel
	"range of input length should be",                            // Qwen
	"exceeded model token limit", "context window exceeds limit", // Kimi, MiniMax
	"model_context_window_exceeded",
}

// overflowLimit is how Copilot says it; the words alone say too little.
var overflowLimit = regexp.MustCompile(`exceeds the limit of [\d,]+`)

// overflows reports whether a refusal means that the request does not fit. text
// is in lower case.
func overflows(status int, text string) bool {
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	if status == http.StatusTooManyRequests || has(notOverflow) {
		return false
	}
	return has(overflowWords) || overflowLimit.MatchString(text)
}

// windows are the places where refusals name the window.
var windows = []*regexp.Regexp{
	regexp.MustCompile(`maximum context length is ([\d,]+)`),
	regexp.MustCompile(`> ([\d,]+) maximum`),
	regexp.MustCompile(`exceed context limit: [\d,]+ \+ [\d,]+ > ([\d,]+)`),
	regexp.MustCompile(`maximum number of tokens allowed \(?([\d,]+)`),
	regexp.MustCompile(`maximum prompt length is ([\d,]+)`),
	regexp.MustCompile(`limit is ([\d,]+)`),
	regexp.MustCompile(`maximum model length of ([\d,]+)`),
	regexp.MustCompile(`with ([\d,]+) maximum context length`),
	regexp.MustCompile(`available context size \(?([\d,]+)`),
	regexp.MustCompile(`n_ctx\W{1,4}([\d,]+)`),
	regexp.MustCompile(`model's context length \(?([\d,]+)`),
	regexp.MustCompile(`input length should be \[\d+, ?([\d,]+)`),
	regexp.MustCompile(`exceeds the limit of ([\d,]+)`),
}

// The windows that are believed, in tokens.
const (
	leastWindow = 1024
	mostWindow  = 100_000_000
)

// windowIn is the window that a refusal names, or zero.
func windowIn(text string) int {
	for _, r := range windows {
		if m := r.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
			if err == nil && n >= leastWindow && n <= mostWindow {
				return n
			}
		}
	}
	return 0
}

// Windows are the windows of models as their endpoints told them, by id.
type Windows struct {
	mu   sync.Mutex
	byID map[string]int
}

// Of is models with the windows that were learned.
func (w *Windows) Of(models []model.Info) []model.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.byID) == 0 {
		return models
	}
	out := slices.Clone(models)
	for i := range out {
		out[i].Window = cmp.Or(w.byID[out[i].ID], out[i].Window)
	}
	return out
}

func (w *Windows) learn(id string, window int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[string]int{}
	}
	w.byID[id] = window
}

// Watch looks at the end of a request for what it says of the model's window. It
// returns the error that users of the model should see: a refusal without known
// words, of a request that fills more than half of the window, may well be one of
// its length; so is an answer that ends at once because there was no room.
func (w *Windows) Watch(req plugin.ModelRequest, info model.Info, resp plugin.ModelResponse, err error) error {
	if err == nil {
		return w.watchAnswer(req, info, resp)
	}
	e := model.From(err)
	switch {
	case e.Kind == model.TooLong && e.Window > 0:
		w.learn(info.ID, e.Window)
	case e.Kind == model.Unknown && unclear(e.Status) && info.Window > 0 && model.RequestTokens(req) > info.Window/2:
		guess := *e
		guess.Kind, guess.Guessed = model.TooLong, true
		return &guess
	}
	return err
}

func unclear(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge ||
		status == http.StatusUnprocessableEntity
}

// leastCut is the size of a request from which a smaller count of tokens is a
// sign, and not an error of our estimate.
const leastCut = 3000

// watchAnswer notices endpoints that cut a request silently: their count of its
// tokens is the only trace.
func (w *Windows) watchAnswer(req plugin.ModelRequest, info model.Info, resp plugin.ModelResponse) error {
	if empty := resp.Text == "" && len(resp.ToolCalls) == 0; empty &&
		(resp.Finish == FinishWindow || resp.Finish == FinishLength && resp.Usage.OutputTokens == 0 &&
			resp.Usage.InputTokens > 0) {
		return &model.Error{Kind: model.TooLong, Detail: "the answer has no room in the model's window"}
	}
	asked, read := model.RequestTokens(req), int(resp.Usage.InputTokens)
	pictures := slices.ContainsFunc(req.Messages, func(m plugin.ModelMessage) bool { return len(m.Images) > 0 })
	if read >= leastWindow && asked > leastCut && read < asked/2 && !pictures {
		w.learn(info.ID, max(read+int(resp.Usage.OutputTokens), 2*leastWindow))
	}
	return nil
}

// Why an answer ended, in the oracle's words.
const (
	FinishStop    = "stop"
	FinishCalls   = "tool_calls"
	FinishLength  = "length"
	FinishFilter  = "filter"
	FinishRefusal = "refusal"
	// FinishPause: the endpoint wants the answer back, and goes on.
	FinishPause = "pause"
	// FinishWindow: the model's window was full.
	FinishWindow = "window"
)
