package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/plugin"
)

// progressFactor is how much longer than its time a call may take whose server tells that it
// makes progress, and longest what no call may take.
const (
	progressFactor = 10
	longest        = 15 * time.Minute
)

// talk is one call, and what its server says meanwhile.
type talk struct {
	idle  *time.Timer
	limit time.Duration
	// show tells the person how far the call is; nil tells nobody.
	show  func(text string)
	shown time.Time
}

// begin lets a call be told of its progress: it ends when it hears of none for its time.
func (l *line) begin(ctx context.Context, token string, limit time.Duration, show func(string),
) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := &talk{limit: limit, show: show}
	t.idle = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.talks == nil {
		l.talks = map[string]*talk{}
	}
	l.talks[token] = t
	return ctx, func() {
		t.idle.Stop()
		cancel(nil)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.talks, token)
		if l.openFor == token {
			l.open, l.openFor = nil, ""
		}
	}
}

// Bounds of what people see of a call's progress.
const (
	maxProgress   = 200
	progressEvery = time.Second
)

// progress hears how far a call is.
func (l *line) progress(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	l.mu.Lock()
	t := l.talks[token]
	show := t != nil && t.show != nil && time.Since(t.shown) >= progressEvery
	if t != nil {
		t.idle.Reset(t.limit)
	}
	if show {
		t.shown = time.Now()
	}
	l.mu.Unlock()
	if !show {
		return
	}
	text := l.server.Name + ": " + strconv.FormatFloat(r.Params.Progress, 'g', 6, 64)
	if r.Params.Total > 0 {
		text += " of " + strconv.FormatFloat(r.Params.Total, 'g', 6, 64)
	}
	if r.Params.Message != "" {
		text += ", " + agent.Cap(r.Params.Message, maxProgress)
	}
	t.show(text + "\n")
}

// toldFor is how long a call that was stopped waits until its server was told.
const toldFor = time.Second

// awaitTold waits until the server was told that a call is stopped: who closes the
// connection before leaves it at work.
func (l *line) awaitTold() {
	l.mu.Lock()
	progressed := l.progressed
	l.mu.Unlock()
	enough := time.NewTimer(toldFor)
	defer enough.Stop()
	select {
	case <-progressed:
	case <-enough.C:
	}
}

// asked is what a server wants to know from the person.
type asked struct {
	ID      string          `json:"id,omitempty"`
	Message string          `json:"message"`
	Form    json.RawMessage `json:"form"`
}

// key tells questions apart.
func (a asked) key() string {
	sum := sha256.Sum256(slices.Concat([]byte(a.Message), []byte{0}, a.Form))
	return hex.EncodeToString(sum[:])
}

// questions is what the oracle remembers of a call while its person thinks.
type questions struct {
	// Key is that of a question which was put in the course of the call: it is put again.
	// Given is what was said to those before it.
	Key   string                     `json:"key,omitempty"`
	Given map[string]json.RawMessage `json:"given,omitempty"`
	// Asked is which of a result's questions was put, Rest those that are left, Got what
	// was said to the others, and State what the server wants back.
	Asked string                     `json:"asked,omitempty"`
	Rest  []asked                    `json:"rest,omitempty"`
	Got   map[string]json.RawMessage `json:"got,omitempty"`
	State string                     `json:"state,omitempty"`
	// Rounds is how many questions the call has put, this one among them.
	Rounds int `json:"rounds,omitempty"`
}

// put asks the person: see plugin.AskError.
func (l *line) put(a asked, q questions) error {
	q.Rounds = l.rounds + 1
	state, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("encode question: %w", err)
	}
	return &plugin.AskError{Ask: plugin.Ask{From: l.server.Name, Message: a.Message, Form: a.Form, State: state}}
}

// elicit answers a question that a server puts in the course of a call. The person is not
// waited for: the server is told that nobody answered yet, the call ends, and is made
// again with the answer, when there is one. Where it cannot be told which call asks, the
// person is not asked; from then on each call has a connection of its own.
func (l *line) elicit(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	later := &mcp.ElicitResult{Action: "cancel"}
	a, err := read("", r.Params)
	if err != nil {
		l.engine.log.Info("an MCP server asks in a way that is not known", slog.String("event", "mcp.question_refused"), slog.String("server", l.server.Name), slog.Any("error", err))
		return later, nil
	}
	l.engine.elicits.Put(l.key(), struct{}{}, time.Now().Add(elicitsFor), 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if raw, ok := l.given[a.key()]; ok {
		content, err := object(raw)
		return &mcp.ElicitResult{Action: "accept", Content: content}, err
	}
	if len(l.talks) == 1 && l.open == nil && r.Session == l.session {
		for token := range l.talks {
			l.open, l.openFor = &a, token
		}
	}
	return later, nil
}

// elicitsFor is how long it is remembered that a server asks.
const elicitsFor = 24 * time.Hour

func read(id string, p *mcp.ElicitParams) (asked, error) {
	if p == nil || p.Mode != "" && p.Mode != "form" {
		return asked{}, errors.New("only forms are known")
	}
	schema, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return asked{}, fmt.Errorf("encode form: %w", err)
	}
	return asked{ID: id, Message: p.Message, Form: schema}, nil
}

// takeOpen is the question that was put in the course of the call, if one was.
func (l *line) takeOpen(token string) *asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openFor != token {
		return nil
	}
	open := l.open
	l.open, l.openFor = nil, ""
	return open
}

// resume reads what the person said into the call that is made again. With questions
// left it asks the next one instead.
func (l *line) resume(said *plugin.Answered, params *mcp.CallToolParams) error {
	var q questions
	if err := json.Unmarshal(said.Ask.State, &q); err != nil {
		return fmt.Errorf("decode question: %w", err)
	}
	l.rounds = q.Rounds
	if q.Key != "" {
		l.given = with(q.Given, q.Key, said.Content)
		return nil
	}
	got := with(q.Got, q.Asked, said.Content)
	if len(q.Rest) > 0 {
		return l.put(q.Rest[0], questions{Asked: q.Rest[0].ID, Rest: q.Rest[1:], Got: got, State: q.State})
	}
	params.RequestState, params.InputResponses = q.State, mcp.InputResponseMap{}
	for id, raw := range got {
		content, err := object(raw)
		if err != nil {
			return err
		}
		params.InputResponses[id] = &mcp.ElicitResult{Action: "accept", Content: content}
	}
	return nil
}

// with is the map and one more.
func with(m map[string]json.RawMessage, key string, value json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{key: value}
	maps.Copy(out, m)
	return out
}

func object(raw json.RawMessage) (map[string]any, error) {
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return out, nil
}

// askedBy puts the questions of a result. More than a call may ask are refused before the
// first: what was said to the others would be lost.
func (l *line) askedBy(result *mcp.CallToolResult) error {
	var all []asked
	for _, id := range slices.Sorted(maps.Keys(result.InputRequests)) {
		p, ok := result.InputRequests[id].(*mcp.ElicitParams)
		if !ok {
			return plugin.Errorf(502, "The MCP server %s asks for something that is not known here.", l.server.Name)
		}
		a, err := read(id, p)
		if err != nil {
			return plugin.Errorf(502, "The MCP server %s asks in a way that is not known here.", l.server.Name)
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return plugin.Errorf(503, "The MCP server %s is busy.", l.server.Name)
	}
	if l.rounds+len(all) > agent.MaxRounds {
		return plugin.Errorf(502, "The MCP server %s asks the user more than %d questions. None was put.", l.server.Name, agent.MaxRounds)
	}
	return l.put(all[0], questions{Asked: all[0].ID, Rest: all[1:], State: result.RequestState})
}

// watch is what is made of a turn's runtime for one call.
type watch struct {
	id       string
	limit    time.Duration
	show     func(string)
	answered *plugin.Answered
}

func watching(ctx context.Context, rt *plugin.Runtime, limit time.Duration) watch {
	w := watch{limit: limit}
	if rt == nil {
		return w
	}
	w.id, w.answered = rt.ToolCallID, rt.Answered
	if rt.Emit != nil {
		var once sync.Mutex
		w.show = func(text string) {
			once.Lock()
			defer once.Unlock()
			_ = rt.Emit.Reasoning(ctx, text) // a hint
		}
	}
	return w
}
