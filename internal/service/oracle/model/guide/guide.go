// Package guide is the built-in model: deterministic, offline, honest about
// what it is.
//
// It is no language model. It answers from the community's documents by quoting
// them with their source, and what these do not know from the documentation that is
// built in, where one section is about the question. It talks a little, in the languages
// of talk/*.yaml, tells the time, does sums, remembers what it is told, and drives whatever tools a turn offers by
// plain rules, so that files, queries, browser tools and actions can be tried
// without any account. When it has nothing to say it says so, and how a language
// model is connected. It shows nobody what was written for models, and loads no
// capability that the question does not name.
//
// Decision: ADR 0043.
package guide

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/guidebook"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// Config says what the guide knows and how it talks.
type Config struct {
	// Docs is a tree of Markdown files to answer from.
	Docs fs.FS
	// Home is the address below which people read those pages; guidebook.Home of the
	// server that they talk with when empty.
	Home string
}

// Provider is the guide.
type Provider struct {
	index     *textindex.Small
	questions *frequent
	books     []*book
	home      string
}

var _ model.Provider = (*Provider)(nil)

// New reads the documentation.
func New(cfg Config) (*Provider, error) {
	all, err := guidebook.Passages(cfg.Docs)
	if err != nil {
		return nil, fmt.Errorf("read documentation: %w", err)
	}
	ix, err := textindex.NewSmall(all, analyse.Everyday())
	if err != nil {
		return nil, fmt.Errorf("index documentation: %w", err)
	}
	questions, err := readFrequent(all)
	if err != nil {
		return nil, err
	}
	books, err := readTalk()
	if err != nil {
		return nil, err
	}
	return &Provider{
		index: ix, questions: questions, books: books, home: cmp.Or(cfg.Home, guidebook.Home),
	}, nil
}

// Name is "guide".
func (p *Provider) Name() string { return "guide" }

// Models lists the guide.
func (p *Provider) Models() []model.Info {
	return []model.Info{{
		ID: "guide", Label: "Guide", Family: "castalia", Tier: "everyday", CostLabel: "free", Badge: "built in",
		Blurb: "Answers from Castalia's own documentation and drives tools by plain rules. Needs no account.", Window: 32_000,
	}}
}

// Stream answers.
func (p *Provider) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	if req.NoCalls {
		req.Tools = nil
	}
	said := p.think(ctx, req)
	resp := plugin.ModelResponse{ToolCalls: said.calls, Finish: "stop", Model: "guide", Usage: plugin.Usage{
		InputTokens: int64(model.Tokens(req.System)), OutputTokens: int64(model.Tokens(said.text)),
	}}
	for _, m := range req.Messages {
		resp.Usage.InputTokens += int64(model.MessageTokens(m))
	}
	if len(said.calls) > 0 {
		resp.Finish = "tool_calls"
	}
	if said.thought != "" {
		resp.Reasoning = said.thought
		sink(plugin.Chunk{Reasoning: said.thought})
	}
	sent := 0
	for piece := range strings.SplitAfterSeq(said.text, " ") {
		if piece == "" {
			continue
		}
		if ctx.Err() != nil {
			return resp, context.Cause(ctx)
		}
		sent += len(piece)
		resp.Text = said.text[:sent]
		sink(plugin.Chunk{Text: piece})
	}
	return resp, nil
}

// maxQuestion is how much of what somebody says the rules look at: they compare each word of
// it with each word of many sections, and nobody asks in more.
const maxQuestion = 8 << 10

// answer is what the guide decides to do.
type answer struct {
	text    string
	thought string
	calls   []plugin.ModelToolCall
}

func text(format string, args ...any) answer { return answer{text: fmt.Sprintf(format, args...)} }

// think decides.
func (p *Provider) think(ctx context.Context, req plugin.ModelRequest) answer {
	question, asked := lastQuestion(req.Messages)
	switch req.Purpose {
	case "title":
		return answer{text: title(question)}
	case "summary":
		return answer{text: summary(question)}
	}
	whole := question
	question = cut(question, maxQuestion, "")
	urgent, _, _ := p.heard(question)
	means := cmp.Or(urgent.Means, question) // to the rules for tools, which are English
	whole = cmp.Or(urgent.Means, whole)
	var done, looked []result
	for _, r := range finished(req.Messages, asked) {
		if isDocumentTool(r.call.Name) {
			looked = append(looked, r)
		} else {
			done = append(done, r)
		}
	}
	if a, ok := p.remembers(req, question, done); ok {
		return a
	}
	if !onlyRecalled(done) {
		if a, ok := afterTools(req, means, done); ok {
			return a
		}
	}
	for _, r := range []struct {
		apply func(plugin.ModelRequest, string) (answer, bool)
		on    string
	}{
		// Arguments and attachments are read to their end.
		{explicit, whole}, {continued, whole}, {attached, whole}, {p.smallTalk, means}, {sums, means}, {useTool, means},
	} {
		if a, ok := r.apply(req, r.on); ok && (!onlyRecalled(done) || len(a.calls) == 0) {
			return a
		}
	}
	said, nearest, ok := p.askDocuments(req, question, looked)
	switch {
	case ok && urgent.Look != "" && len(said.calls) == 0:
		return answer{text: urgent.Says + "\n\n" + p.line(urgent.book, "documents") + "\n\n" + said.text}
	case ok:
		return said
	case urgent.Look != "":
		return answer{text: urgent.Says}
	}
	for _, rule := range []func(plugin.ModelRequest, string) (answer, bool){
		inFiles, p.frequently(ctx), loadCapability(done), p.quote(ctx),
	} {
		if a, ok := rule(req, means); ok {
			return a
		}
	}
	return p.ignorant(question, len(looked) > 0, nearest)
}

// ignorant is the plain word where the guide knows nothing, in the language of the
// question where it speaks that.
func (p *Provider) ignorant(question string, looked bool, nearest []string) answer {
	b, foreign := p.bookFor(question)
	name, near := "cannot", ""
	switch {
	case looked:
		name = "undocumented"
	case isQuestion.MatchString(question), b != p.books[0] && strings.HasSuffix(question, "?"):
		name = "unknown"
	}
	if len(nearest) > 0 {
		near = p.line(b, "nearest", "titles", strings.Join(nearest, "; "))
	}
	said := p.line(b, name, "nearest", near)
	if foreign {
		said = p.line(b, "foreign") + " " + said
	}
	return answer{text: said}
}

// lastQuestion returns the user's last text and where it stands.
func lastQuestion(messages []plugin.ModelMessage) (string, int) {
	for i, m := range slices.Backward(messages) {
		if m.Role == plugin.RoleUser {
			return strings.TrimSpace(m.Text), i
		}
	}
	return "", -1
}

// result is a tool call of this turn with what came back.
type result struct {
	call   plugin.ModelToolCall
	text   string
	failed bool
}

// finished lists the tool calls since the question.
func finished(messages []plugin.ModelMessage, asked int) []result {
	var out []result
	for _, m := range messages[asked+1:] {
		for _, c := range m.ToolCalls {
			out = append(out, result{call: c})
		}
		if m.Role != plugin.RoleTool {
			continue
		}
		for i := range out {
			if out[i].call.ID == m.ToolCallID {
				out[i].text, out[i].failed = m.Text, m.Failed
			}
		}
	}
	return out
}

// title makes a title of the first thing that somebody said.
func title(conversation string) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(conversation, "human: "), "\n")
	if named, ok := strings.CutPrefix(line, "/tool "); ok {
		name, _, _ := strings.Cut(named, " ")
		line = strings.ToUpper(name[:min(len(name), 1)]) + strings.ReplaceAll(name[min(len(name), 1):], "_", " ")
	}
	words := strings.Fields(line)
	if len(words) > 6 {
		words = append(words[:6], "…")
	}
	return strings.Join(words, " ")
}

// summary keeps the first sentence of everything that was said.
func summary(conversation string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(conversation, "\n") {
		sentence, _, _ := strings.Cut(line, ". ")
		if sentence = strings.TrimSpace(sentence); sentence != "" && b.Len() < 2000 {
			b.WriteString(sentence + ".\n")
		}
	}
	return b.String()
}
