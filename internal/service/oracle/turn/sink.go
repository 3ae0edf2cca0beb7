package turn

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/plugin"
)

// meter adds up what sub-agents and side questions used.
type meter struct {
	mu  sync.Mutex
	sum plugin.Usage
}

func (m *meter) add(u plugin.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum = m.sum.Add(u)
}

func (m *meter) total() plugin.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sum
}

// sink shows a turn to readers of the log and to open pages.
type sink turn

var _ agent.Sink = (*sink)(nil)

// Chunk shows a piece of the answer, or of a thought.
func (s *sink) Chunk(c plugin.Chunk) {
	t := (*turn)(s)
	now := oracle.Timestamp(time.Now())
	if c.Reasoning != "" {
		t.emit(oracle.FrameReasoning, oracle.ReasoningFrame{
			Address: t.to, Reasoning: c.Reasoning, Timestamp: now,
			ReasoningDetails: []oracle.ReasoningDetail{{Type: "thinking", Text: c.Reasoning}},
		})
	}
	if c.Text != "" {
		t.emit(oracle.FrameMessage, oracle.MessageFrame{Content: c.Text, Timestamp: now})
	}
}

// Retract takes back what the present step has said: readers cut their text as
// they do when another node goes on with a turn.
func (s *sink) Retract(kept string) {
	t := (*turn)(s)
	length := len(utf16.Encode([]rune(kept)))
	t.emit(oracle.FrameRun, oracle.RunFrame{
		RunID: t.run.ID, Address: t.to, Resumed: true, Attempt: t.run.Attempt, PartialLength: &length,
	})
}

// ToolStarted tells that a call began.
func (s *sink) ToolStarted(c agent.Call) {
	c.Status = plugin.Running
	(*turn)(s).tellCall(c)
}

// ToolEnded tells the result of a call, and asks pages to show its component.
func (s *sink) ToolEnded(c agent.Call) {
	t := (*turn)(s)
	if c.Untrusted {
		t.untrusted.Store(true)
	}
	t.tellCall(c)
	if c.Component == nil {
		return
	}
	t.render(context.Background(), oracle.RenderComponentPayload{
		Address: t.to, ComponentName: c.Component.Name, Args: c.Component.Args, Status: plugin.Done, EventID: c.ID,
	})
}

func (t *turn) render(ctx context.Context, p oracle.RenderComponentPayload) {
	t.emit(oracle.FrameRenderComponent, p)
	t.publish(ctx, oracle.EventRenderComponent, p)
}

func (t *turn) tellCall(c agent.Call) {
	var output *string
	if c.Status == plugin.Done {
		output = &c.Output
	}
	if c.Action { // on the stream only: pages run every action_call of the socket
		t.emit(oracle.FrameActionCall, oracle.ActionCallPayload{
			Address: t.to, ToolCallID: c.ID, ToolName: c.Name, Args: c.Arguments(), Status: c.Status, Output: output,
			Error: c.Error,
		})
		return
	}
	p := oracle.ToolCallPayload{
		Address: t.to, ToolName: c.Name, Args: oracle.WithToolName(c.Arguments(), c.Name), Status: c.Status, EventID: c.ID,
		Output: output, Error: c.Error, Caller: c.Caller,
	}
	if c.Caller { // whoever runs it gets what the model said
		p.Args = c.Arguments()
	}
	t.emit(oracle.FrameToolCall, p)
	t.publish(context.Background(), oracle.EventToolCall, p)
}

// Save keeps the state of the turn.
func (s *sink) Save(ctx context.Context, state agent.State, durable bool) error {
	t := (*turn)(s)
	if err := t.job.Log.Checkpoint(state); err != nil {
		return err
	}
	if durable {
		return t.job.Log.Flush(ctx)
	}
	return nil
}

// publish tells open pages. It is a hint, so a failure is only noted.
func (t *turn) publish(ctx context.Context, name oracle.EventName, payload any) {
	tell(ctx, t.deps.Publisher, t.log, name, t.to, payload)
}

func tell(ctx context.Context, p oracle.Publisher, log *slog.Logger, name oracle.EventName, to oracle.Address,
	payload any,
) {
	e, err := oracle.NewEvent(name, to, payload)
	publish(ctx, p, log, e, err)
}

// publish sends an event, unless it could not be made. It is a hint: nobody
// waits for it long.
func publish(ctx context.Context, p oracle.Publisher, log *slog.Logger, e oracle.Event, err error) {
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		err = p.Publish(ctx, e)
	}
	if err != nil {
		log.Debug("an event was not published", slog.String("socket_event", string(e.Name)), slog.Any("error", err))
	}
}

// emitter is what plugins emit with.
type emitter struct{ t *turn }

var _ plugin.Emitter = emitter{}

// ToolCall tells pages about a call.
func (e emitter) ToolCall(ctx context.Context, ev plugin.ToolCallEvent) error {
	p := oracle.ToolCallPayload{
		Address: e.t.to, ToolName: ev.ToolName, Args: oracle.WithToolName(ev.Args, ev.ToolName), Status: ev.Status,
		EventID: cmp.Or(ev.EventID, oracle.NewID()), Error: ev.Error,
	}
	if ev.Output != "" {
		p.Output = &ev.Output
	}
	e.t.publish(ctx, oracle.EventToolCall, p)
	return nil
}

// RenderComponent asks pages to show a component.
func (e emitter) RenderComponent(ctx context.Context, ev plugin.RenderComponentEvent) error {
	e.t.render(ctx, oracle.RenderComponentPayload{
		Address: e.t.to, ComponentName: ev.ComponentName, Args: ev.Args, Status: ev.Status,
		EventID: cmp.Or(ev.EventID, oracle.NewID()),
	})
	return nil
}

// RouterUpdate tells which agent works.
func (e emitter) RouterUpdate(ctx context.Context, ev plugin.RouterUpdateEvent) error {
	e.t.route(ctx, ev.Step)
	return nil
}

// Reasoning shows a passing thought.
func (e emitter) Reasoning(_ context.Context, text string) error {
	(*sink)(e.t).Chunk(plugin.Chunk{Reasoning: text})
	return nil
}

// MessageCacheInvalidation tells pages to fetch again.
func (e emitter) MessageCacheInvalidation(ctx context.Context) error {
	e.t.publish(ctx, oracle.EventMessageCacheInvalidation,
		oracle.MessageCacheInvalidation{Address: e.t.to, Status: plugin.Done})
	return nil
}

func (t *turn) route(ctx context.Context, step string) {
	p := oracle.RouterUpdate{Address: t.to, Step: step, RunID: t.run.ID}
	t.emit(oracle.FrameRouterUpdate, p)
	t.publish(ctx, oracle.EventRouterUpdate, p)
}
