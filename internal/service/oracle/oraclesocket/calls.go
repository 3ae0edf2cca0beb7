package oraclesocket

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// keepSettled is how long a settled call can still be asked for by the node
// that made it.
const keepSettled = time.Minute

// maxSettled bounds what is kept for that, maxKept the bytes of results among it.
const (
	maxSettled = 4096
	maxKept    = 32 << 20
)

// pending is a call that was sent to a socket of this node.
type pending struct {
	socket  string
	session string
	kind    oracle.CallKind
	until   time.Time
	done    func(oracle.Outcome)
	timer   *time.Timer
}

// calls are the calls that sockets of this node owe an answer to, and the calls
// that this node waits for.
type calls struct {
	mu      sync.Mutex
	sent    map[string]*pending
	sockets map[string]map[string]struct{} // socket id -> call ids
	settled map[string]oracle.Outcome
	order   []string // of settled, oldest first
	heavy   []string // those with a result, oldest first
	kept    int      // bytes of their results
	waiting map[string]chan<- oracle.Outcome
	users   map[string]int
}

func (c *calls) init() {
	c.sent = make(map[string]*pending)
	c.sockets = make(map[string]map[string]struct{})
	c.settled = make(map[string]oracle.Outcome)
	c.waiting = make(map[string]chan<- oracle.Outcome)
	c.users = make(map[string]int)
}

func (c *calls) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent)
}

// expect notes a call before it is sent. It fails for a call that was sent
// before: a doubled message must not run a tool twice.
func (c *calls) expect(id string, p *pending, deadline time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, sent := c.sent[id]
	if _, done := c.settled[id]; sent || done {
		return false
	}
	c.sent[id] = p
	if c.sockets[p.socket] == nil {
		c.sockets[p.socket] = make(map[string]struct{})
	}
	c.sockets[p.socket][id] = struct{}{}
	p.timer = time.AfterFunc(deadline, func() { c.settle(id, oracle.Outcome{Unknown: true}, nil) })
	return true
}

// settle ends a call once. match, when given, must accept the pending call.
func (c *calls) settle(id string, o oracle.Outcome, match func(*pending) bool) bool {
	c.mu.Lock()
	p := c.sent[id]
	if p == nil || match != nil && !match(p) {
		c.mu.Unlock()
		return false
	}
	c.remove(id, p)
	c.keep(id, o)
	c.mu.Unlock()
	time.AfterFunc(keepSettled, func() { c.forget(id) })
	p.done(o)
	return true
}

// keep remembers how a call ended. When there are too many, the oldest is
// forgotten; when they are too long, the oldest result is, and not its call.
func (c *calls) keep(id string, o oracle.Outcome) {
	c.settled[id] = o
	c.order = append(c.order, id)
	if len(c.order) > maxSettled {
		c.unload(c.order[0])
		delete(c.settled, c.order[0])
		c.order = c.order[1:]
	}
	if size := weight(o); size > 0 {
		c.heavy = append(c.heavy, id)
		c.kept += size
	}
	for c.kept > maxKept {
		c.unload(c.heavy[0])
	}
}

func weight(o oracle.Outcome) int { return len(o.Result) + len(o.Error) }

// unload forgets the result of a call, if it has one.
func (c *calls) unload(id string) {
	i := slices.Index(c.heavy, id)
	if i < 0 {
		return
	}
	c.heavy = slices.Delete(c.heavy, i, i+1)
	c.kept -= weight(c.settled[id])
	c.settled[id] = oracle.Outcome{Unknown: true}
}

func (c *calls) remove(id string, p *pending) {
	p.timer.Stop()
	delete(c.sent, id)
	delete(c.sockets[p.socket], id)
	if len(c.sockets[p.socket]) == 0 {
		delete(c.sockets, p.socket)
	}
}

// withdraw undoes expect for a call that could not be sent. It reports false
// when the call was settled meanwhile.
func (c *calls) withdraw(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.sent[id]
	if p != nil {
		c.remove(id, p)
	}
	return p != nil
}

func (c *calls) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unload(id)
	delete(c.settled, id)
	if len(c.order) > 0 && c.order[0] == id {
		c.order = c.order[1:]
	}
}

// lose settles the calls of a socket that went: whether they ran is unknown.
func (c *calls) lose(socket string) {
	c.mu.Lock()
	ids := make([]string, 0, len(c.sockets[socket]))
	for id := range c.sockets[socket] {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.settle(id, oracle.Outcome{Unknown: true}, nil)
	}
}

// state tells what this node knows of a call: whether it is open, or how it ended.
func (c *calls) state(id string) (o oracle.Outcome, open, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.sent[id]; ok {
		return oracle.Outcome{}, true, true
	}
	o, known = c.settled[id]
	return o, false, known
}

// await registers a call that this node waits for, within the user's bound.
func (c *calls) await(id, owner string, limit int) (<-chan oracle.Outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users[owner] >= limit {
		return nil, oracle.ErrTooManyCalls
	}
	c.users[owner]++
	got := make(chan oracle.Outcome, 1)
	c.waiting[id] = got
	return got, nil
}

func (c *calls) unawait(id, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
	if c.users[owner]--; c.users[owner] <= 0 {
		delete(c.users, owner)
	}
}

// resolve hands an outcome to whoever waits for it here, once.
func (c *calls) resolve(id string, o oracle.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if got, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		got <- o // buffered
	}
}

// result is what a page sends back.
type result struct {
	ToolCallID string          `json:"toolCallId"`
	SessionID  *string         `json:"sessionId"`
	Result     json.RawMessage `json:"result"`
	Error      json.RawMessage `json:"error"`
}

// outcome reads a result by the rules of its kind.
func (r result) outcome(kind oracle.CallKind) oracle.Outcome {
	o := oracle.Outcome{Result: r.Result}
	if len(r.Error) > 0 && string(r.Error) != "null" && string(r.Error) != `""` && string(r.Error) != "false" {
		if json.Unmarshal(r.Error, &o.Error) != nil {
			o.Error = string(r.Error)
		}
	}
	if kind == oracle.Action && o.Error == "" {
		var action struct {
			Success *bool  `json:"success"`
			Error   string `json:"error"`
		}
		if json.Unmarshal(r.Result, &action) == nil && action.Success != nil && !*action.Success {
			if o.Error = action.Error; o.Error == "" {
				o.Error = "the action failed"
			}
		}
	}
	return o
}
