// Package face starts and reads turns for programs that know the oracle by
// another wire than its own. Each wire has a folder of its own below.
//
// It promises that a turn through a face is a run like any other: stored before
// it is answered, billed once, and gone on with by another node when its own
// dies. A request that repeats one whose answer did not arrive whole gets that
// answer, and begins nothing; a program that hangs up has stopped its turn, since
// such wires know no other way to say so.
//
// It refuses to guess which conversation is meant: without the name of one, the
// request's own history is all there is, in a session that nobody sees and that is
// deleted after a day.
//
// Decision: ADR 0161.
package face

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/run"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

// The names under which programs ask for the oracle, beside those of its models.
const (
	// Oracle is the oracle with its default model.
	Oracle = "oracle"
	// Small is for titles, tags and the like: the cheapest model, without tools,
	// and never part of a session.
	Small = "oracle-small"
)

// Store is the name of the plugin.Store in which faces keep their marks.
const Store = "castalia.faces"

// MaxConversation bounds the name of a conversation, in bytes.
const MaxConversation = 200

// Turns starts turns: turn.Turns.
type Turns interface {
	Start(ctx context.Context, q run.Start) (run.Started, error)
}

// Deps is what faces are made of.
type Deps struct {
	Service  *oracle.Service
	Turns    Turns
	Engine   *run.Engine
	Provider model.Provider
	// Marks remembers which answers arrived: the plugin.Store of that name.
	Marks plugin.Store
	// Heartbeat is how often a silent stream says that it is alive.
	Heartbeat time.Duration
	Log       *slog.Logger
}

// Faces is what all faces have in common.
type Faces struct {
	deps Deps

	mu sync.Mutex
	// serving counts who reads a run here: it is not theirs who repeat its request.
	serving map[string]int
}

// heartbeat is how often a silent stream says that it is alive, unless Deps says otherwise.
const heartbeat = 15 * time.Second

// New makes Faces.
func New(d Deps) *Faces {
	d.Heartbeat = cmp.Or(d.Heartbeat, heartbeat)
	return &Faces{deps: d, serving: map[string]int{}}
}

// Ask is a request for an answer.
type Ask struct {
	Who identity.Principal
	// Conversation names the caller's, which is then kept as a session; empty when
	// Request.Given is all there is.
	Conversation string
	Request      oracle.TurnRequest
	// Images are shown with the message and kept nowhere.
	Images []plugin.Image
	// Said is what the caller sent of the conversation, whether it is used or
	// not: two requests with the same are the same request.
	Said []oracle.GivenMessage
	// Named says that the caller's messages have names, which are in Names: an equal request is
	// then the same one, also while it is being answered.
	Named bool
	Names []string
}

// Models lists the names that programs may ask for.
func (f *Faces) Models() []string {
	names := []string{Oracle, Small}
	if all := f.deps.Provider.Models(); len(all) > 1 {
		for _, m := range all {
			names = append(names, m.ID)
		}
	}
	return names
}

// ErrNoModel says that nothing is offered under the name.
var ErrNoModel = fault.New(fault.NotFound, "The model does not exist here").WithCode("model_not_found")

// Choose makes the request one for the named model.
func (f *Faces) Choose(name string, q *oracle.TurnRequest) error {
	all := f.deps.Provider.Models()
	switch {
	case len(all) == 0:
		return fault.New(fault.Unavailable, "No model is configured")
	case name == Oracle || name == "":
		return nil
	case name == Small:
		q.Plain, q.Model = true, cheapest(all)
		return nil
	}
	for _, m := range all {
		if m.ID == name {
			q.Model = name
			return nil
		}
	}
	return ErrNoModel
}

// cheapest is the model with the lowest prices, among those that have any.
func cheapest(all []model.Info) string {
	best, price := all[0].ID, 0.0
	for _, m := range all {
		if p := m.InputPerMillion + m.OutputPerMillion; p > 0 && (price == 0 || p < price) {
			best, price = m.ID, p
		}
	}
	return best
}

// Begin stores the message and begins to answer, or finds the answer that the
// same request began earlier and that did not arrive.
func (f *Faces) Begin(ctx context.Context, a Ask) (*Answer, error) {
	return f.begin(ctx, a, nil, nil)
}

// marker makes what is remembered of a run that begins.
type marker func(runID string) (run.Mark, error)

// replayer finds the answer of a request that was begun before, also one that arrived.
type replayer func() (answer *Answer, ok bool, err error)

// begin is Begin. What is made of the run that it starts is stored with it: the first
// token waits for no second write. replay is asked when the same request began a run before.
func (f *Faces) begin(ctx context.Context, a Ask, mark marker, replay replayer) (*Answer, error) {
	q := a.Request
	q.Origin = usage.SourceFace
	if a.Who.Sponsor != a.Who.DID {
		q.Sponsor = a.Who.Sponsor
	}
	if key, ok := appkey.FromContext(ctx); ok {
		q.AppKey = key.ID
	}
	start := run.Start{
		Owner: a.Who.DID, RequestID: fingerprint(a), Multitask: oracle.Enqueue, Request: q,
		Carried: oracle.Carried{Brought: a.Who.Brought(), Images: a.Images},
	}
	if a.Conversation != "" && !q.Plain {
		session, err := f.session(ctx, a.Who.DID, a.Conversation)
		if err != nil {
			return nil, err
		}
		start.SessionID = session.ID
	}
	// The fingerprint knows the conversation. Asked in the session, the engine would look whether that is archived
	// whenever nothing is found, which is nearly always.
	earlier, ok, err := f.deps.Engine.ByRequest(ctx, start.Owner, "", start.RequestID)
	if err != nil {
		return nil, err
	}
	if ok && replay != nil {
		if answer, found, err := replay(); found || err != nil {
			return answer, err
		}
	}
	isSame := ok && (start.SessionID == "" || start.SessionID == earlier.SessionID)
	if isSame && f.unheard(ctx, earlier, a.Named) {
		reader, err := f.deps.Engine.Follow(ctx, start.Owner, earlier.ID, 0)
		if err == nil {
			return f.answer(earlier, reader, false), nil
		}
		if !errors.Is(err, run.ErrPruned) {
			return nil, err
		}
	}
	if start.SessionID == "" {
		hidden := f.deps.Service.HiddenSession(start.Owner)
		start.SessionID, start.NewSession = hidden.ID, &hidden
	}
	if mark != nil {
		start.RunID = oracle.NewID()
		m, err := mark(start.RunID)
		if err != nil {
			return nil, err
		}
		start.Marks = []run.Mark{m}
	}
	started, err := f.deps.Turns.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	return f.answer(started.Run, started.Reader, true), nil
}

// session is one of the caller's sessions by its id, or the one that belongs to
// a conversation of the caller's program.
func (f *Faces) session(ctx context.Context, owner, name string) (oracle.Session, error) {
	if !oracle.PlausibleID(name) || len(name) > MaxConversation {
		return oracle.Session{}, fault.New(fault.Invalid, fmt.Sprintf("the name of a conversation has 1 to %d bytes and no control characters", MaxConversation))
	}
	session, err := f.deps.Service.Session(ctx, owner, name)
	if !errors.Is(err, oracle.ErrSessionNotFound) {
		return session, err
	}
	return f.deps.Service.OpenSession(ctx, owner, sessionKey(name))
}

// sessionKey is how the session of a program's conversation is found.
func sessionKey(conversation string) string { return "face/" + conversation }

// fingerprint is equal for requests that say the same.
func fingerprint(a Ask) string {
	h := sha256.New()
	q := a.Request
	// hashes take everything
	_ = json.NewEncoder(h).Encode([]any{a.Conversation, q.Model, q.Plain, q.Message, q.Results, q.CallerTools, a.Said})
	switch {
	case a.Named: // whatever the page shows meanwhile
		_ = json.NewEncoder(h).Encode(a.Names)
	case q.Instructions != "":
		_ = json.NewEncoder(h).Encode(q.Instructions)
	}
	for _, image := range a.Images {
		sum := sha256.Sum256(image.Data)
		_, _ = h.Write(sum[:])
	}
	return "face-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// unheard reports whether the answer of a run that the same request began is
// still owed: it did not arrive, and nobody reads it here, unless it is known to be the
// same request.
func (f *Faces) unheard(ctx context.Context, r oracle.Run, same bool) bool {
	if !same && f.readers(r.ID) > 0 {
		return false
	}
	if r.Status.Live() {
		return true
	}
	if r.Status != oracle.Finished {
		return false
	}
	_, arrived, err := f.deps.Marks.Get(ctx, arrivedKey(r.ID))
	return err == nil && !arrived
}

func arrivedKey(runID string) string { return "arrived/" + runID }

// arrived notes that the answer was sent whole: who repeats the request wants
// another.
func (f *Faces) arrived(ctx context.Context, runID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := f.deps.Marks.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		return tx.Put(ctx, arrivedKey(runID), nil, oracle.HiddenFor)
	})
	if err != nil {
		f.deps.Log.Warn("an answer that arrived was not noted; a repeated request gets it again", slog.String("event", "face.note_failed"), slog.Any("error", err))
	}
}

func (f *Faces) answer(r oracle.Run, reader *run.Reader, began bool) *Answer {
	f.mu.Lock()
	f.serving[r.ID]++
	f.mu.Unlock()
	return &Answer{
		RunID: r.ID, SessionID: r.SessionID, Created: r.CreatedAt, faces: f, owner: r.Owner, attempt: r.Attempt,
		known: r.NextSeq - 1, reader: reader, began: began,
	}
}

// readers counts who reads a run here.
func (f *Faces) readers(runID string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.serving[runID]
}

func (f *Faces) release(runID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.serving[runID]--; f.serving[runID] <= 0 {
		delete(f.serving, runID)
	}
}
