package system

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestChatSurvivesFaults takes clients, nodes, the bus and the database away
// from three nodes, one after the other.
func TestChatSurvivesFaults(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	database, databaseProxy := Through(t, testenv.Postgres(t))
	bus, busProxy := Through(t, testenv.NATS(t))
	w := Start(t, Fleet, append(model.env(), "DATABASE_URL="+database, "NATS_URL="+bus, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")...)
	t.Run("a reader is cut and resumes elsewhere", func(t *testing.T) { cutReader(t, w, model) })
	t.Run("an abort on another node", func(t *testing.T) { abortElsewhere(t, w, model) })
	t.Run("the bus is away", func(t *testing.T) {
		alice := newChatter(t, w, identitytest.NewActor("no bus"))
		held := alice.begin(t, w.Node(0), model)
		work := chatAll(t, w, "bus")
		busProxy.Cut()
		held.end(t, w.Node(1)) // the bus only saves time
		away(t, func() { work.more(t, 1) })
		busProxy.Restore()
		work.more(t, 1)
		work.check(t)
	})
	t.Run("the database is away", func(t *testing.T) {
		alice := newChatter(t, w, identitytest.NewActor("no database"))
		held := alice.begin(t, w.Node(0), model)
		work := chatAll(t, w, "database")
		databaseProxy.Cut()
		for _, n := range w.Nodes {
			Eventually(t, "a node notices", func() error {
				if n.Ready() == nil {
					return errors.New("it is ready without a database")
				}
				return nil
			})
		}
		away(t, func() {
			for _, n := range w.Nodes {
				refused(t, "a message", alice.do(t, n, http.MethodPost, "/messages/"+alice.session, `{"message":"lost?"}`), http.StatusServiceUnavailable, "")
			}
		})
		held.letGo() // the answer ends while nothing can be written
		databaseProxy.Restore()
		held.end(t, w.Node(1))
		work.more(t, 2)
		work.check(t)
	})
	t.Run("the working node is killed", func(t *testing.T) {
		work := chatAll(t, w, "kill")
		killWorker(t, w, model)
		work.more(t, 1)
		w.Node(0).Start()
		w.Node(0).WaitReady()
		work.more(t, 3) // one of them through the node that is back
		work.check(t)
	})
}

// TestAKilledProgramEndsItsTurnsWhenItIsBack has one node alone.
func TestAKilledProgramEndsItsTurnsWhenItIsBack(t *testing.T) {
	t.Parallel()
	model := newSpeaker(t)
	killWorker(t, Start(t, Embedded, model.env()...), model)
}

// away does the same things again for the five seconds that a store is missing.
func away(t *testing.T, meanwhile func()) {
	t.Helper()
	back := time.Now().Add(5 * time.Second)
	Eventually(t, "the store is back", func() error {
		meanwhile()
		if left := time.Until(back); left > 0 {
			return fmt.Errorf("%v left", left)
		}
		return nil
	})
}

// begun is a turn whose answer waits at its half.
type begun struct {
	*holding
	who     *chatter
	message string
	run     string
	stream  *stream
	frames  []frame // what was read so far: all up to the half
}

// begin starts a turn, and returns when half of its answer has been read.
func (c *chatter) begin(t *testing.T, n *Node, model *speaker) *begun {
	t.Helper()
	b := &begun{who: c, message: "tell " + c.session}
	b.holding = model.hold(b.message)
	b.stream = c.say(t, n, b.message)
	b.run = b.stream.Header.Get("X-Run-Id")
	text := ""
	b.frames = b.stream.until(t, func(f frame) bool {
		if f.Event == "message" {
			text += f.field(t, "content").(string)
		}
		return text == b.begun
	})
	<-b.asked
	return b
}

// end lets the turn go on, and follows it on a node to its end, as often as its
// stream breaks.
func (b *begun) end(t *testing.T, n *Node) {
	t.Helper()
	b.letGo()
	frames := slices.Clone(b.frames)
	Eventually(t, "the turn ends", func() error {
		more, err := b.who.follow(t.Context(), n, b.run, frames[len(frames)-1].ID)
		frames = append(frames, more...)
		return err
	})
	b.whole(t, n, frames)
}

// whole checks that frames and transcript hold the answer once.
func (b *begun) whole(t *testing.T, n *Node, frames []frame) {
	t.Helper()
	if got := textOf(t, frames); got != b.answer {
		t.Errorf("the page shows %q, want %q", got, b.answer)
	}
	list := b.who.transcript(t, n).Messages
	if len(list) != 2 || list[0].Content != b.message || list[1].Content != b.answer ||
		list[1].ID != frames[len(frames)-1].field(t, "messageId") {
		t.Errorf("the transcript: %v; the end: %v", list, frames[len(frames)-1])
	}
}

// follow reads a run from a frame on. It fails unless the end comes.
func (c *chatter) follow(ctx context.Context, n *Node, run, after string) ([]frame, error) {
	s, err := c.openStream(ctx, n, http.MethodGet, "/runs/"+run, "", "Last-Event-ID", after)
	if err != nil {
		return nil, err
	}
	defer s.Cut()
	if s.Status != http.StatusOK {
		return nil, fmt.Errorf("GET /runs/%s: %d", run, s.Status)
	}
	var frames []frame
	for {
		f, ok := s.next()
		if !ok {
			return frames, errors.New("the stream ended before the run did")
		}
		if frames = append(frames, f); f.Event == "done" {
			return frames, nil
		}
	}
}

// cutReader compares what an undisturbed reader sees with what one sees that is
// cut off after every few frames and goes on at the next node.
func cutReader(t *testing.T, w *World, model *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("cut"))
	b := alice.begin(t, w.Node(0), model)
	b.stream.Cut()
	calm := alice.stream(t, w.Node(1), http.MethodGet, "/runs/"+b.run, "")
	var torn []frame
	after := "0"
	for i := 0; len(torn) < len(b.frames); i++ {
		s := alice.stream(t, w.Node(i), http.MethodGet, fmt.Sprintf("/runs/%s?after=%s", b.run, after), "")
		for range min(3, len(b.frames)-len(torn)) {
			f, ok := s.next()
			if !ok {
				t.Fatal("a live stream ended")
			}
			torn, after = append(torn, f), f.ID
		}
		s.Cut()
	}
	b.letGo()
	rest, err := alice.follow(t.Context(), w.Node(2), b.run, after)
	if err != nil {
		t.Fatal(err)
	}
	whole := calm.rest(t)
	if diff := cmp.Diff(whole, append(torn, rest...)); diff != "" {
		t.Errorf("the torn reader saw other bytes (-calm +torn):\n%s", diff)
	}
	if diff := cmp.Diff(b.frames, whole[:len(b.frames)]); diff != "" {
		t.Errorf("the first reader saw other bytes (-first +calm):\n%s", diff)
	}
	b.whole(t, w.Node(0), whole)
}

func abortElsewhere(t *testing.T, w *World, model *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("abort"))
	b := alice.begin(t, w.Node(0), model)
	reader := alice.stream(t, w.Node(2), http.MethodGet, "/runs/"+b.run, "")
	reply := alice.do(t, w.Node(1), http.MethodPost, "/messages/abort", fmt.Sprintf(`{"sessionId":%q}`, alice.session))
	if !strings.Contains(string(reply.Body), `"success":true`) {
		t.Errorf("abort: %d %s", reply.Status, reply.Body)
	}
	<-b.cut
	first := append(b.frames, b.stream.rest(t)...)
	if diff := cmp.Diff(first, reader.rest(t)); diff != "" {
		t.Errorf("two readers saw different ends:\n%s", diff)
	}
	if end := first[len(first)-1]; end.field(t, "status") != "aborted" || end.field(t, "partialText") != b.begun {
		t.Errorf("the end: %v", end)
	}
}

// killWorker kills the node that works on a turn. A reader elsewhere, or when
// the node is back, sees the whole answer.
func killWorker(t *testing.T, w *World, model *speaker) {
	alice := newChatter(t, w, identitytest.NewActor("kill"))
	b := alice.begin(t, w.Node(0), model)
	var reader *stream
	if w.Shape == Fleet {
		reader = alice.stream(t, w.Node(1), http.MethodGet, "/runs/"+b.run, "")
	}
	w.Node(0).Kill()
	<-b.cut
	if w.Shape == Embedded {
		w.Node(0).Start()
		w.Node(0).WaitReady()
		reader = alice.stream(t, w.Node(0), http.MethodGet, "/runs/"+b.run, "")
	}
	<-b.asked // somebody took the turn over and asked the model again
	b.letGo()
	frames := reader.rest(t)
	if diff := cmp.Diff(b.frames, frames[:len(b.frames)]); diff != "" {
		t.Errorf("what the dead node sent is not what was stored:\n%s", diff)
	}
	resumed := 0
	for _, f := range frames {
		if f.Event == "run" && f.field(t, "resumed") == true && f.field(t, "attempt") == 2.0 {
			resumed++
		}
	}
	if resumed != 1 || frames[len(frames)-1].field(t, "status") != "finished" {
		t.Errorf("told %d times of the takeover; the end: %v", resumed, frames[len(frames)-1])
	}
	b.whole(t, w.Node(1), frames)
}

// load is people who chat without pause, each in a session of his own, through
// all nodes in turn.
type load struct {
	world *World
	stop  context.CancelFunc
	going sync.WaitGroup
	users []*user
}

type user struct {
	*chatter
	acknowledged atomic.Int64       // whole turns
	accepted     []string           // messages, in order
	answered     map[string][]frame // what was shown, by message
}

// chatAll begins the load, and returns when everybody has had an answer.
func chatAll(t *testing.T, w *World, name string) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{world: w, stop: stop}
	for i := range 3 {
		u := &user{chatter: newChatter(t, w, identitytest.NewActor(fmt.Sprint(name, i))), answered: map[string][]frame{}}
		l.users = append(l.users, u)
	}
	for i, u := range l.users {
		l.going.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				u.turn(ctx, w, i+k, fmt.Sprintf("message %d of %s", k, u.session))
			}
		})
	}
	t.Cleanup(func() { stop(); l.going.Wait() })
	l.more(t, 1)
	return l
}

// turn sends one message. When it is accepted, its answer is read to the end on
// whichever node gives it.
func (u *user) turn(ctx context.Context, w *World, node int, message string) {
	s, err := u.openStream(ctx, w.Node(node), http.MethodPost, "/messages/"+u.session, fmt.Sprintf(`{"message":%q,"stream":true}`, message))
	if err != nil || s.Status != http.StatusOK {
		if err == nil {
			s.Cut()
		}
		pause(ctx)
		return
	}
	u.accepted = append(u.accepted, message)
	run, after := s.Header.Get("X-Run-Id"), "0"
	var frames []frame
	for f, ok := s.next(); ok; f, ok = s.next() {
		frames, after = append(frames, f), f.ID
	}
	s.Cut()
	for len(frames) == 0 || frames[len(frames)-1].Event != "done" {
		if ctx.Err() != nil {
			return
		}
		node++
		more, err := u.follow(ctx, w.Node(node), run, after)
		if err != nil {
			pause(ctx)
		}
		if frames = append(frames, more...); len(more) > 0 {
			after = more[len(more)-1].ID
		}
	}
	u.answered[message] = frames
	u.acknowledged.Add(1)
}

// pause is what clients do before they try again.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(50 * time.Millisecond):
	}
}

// more waits until everybody has had n more whole turns.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	for _, u := range l.users {
		want := u.acknowledged.Load() + n
		Eventually(t, "there are more turns", func() error {
			if got := u.acknowledged.Load(); got < want {
				return fmt.Errorf("%d of %d", got, want)
			}
			return nil
		})
	}
}

// check ends the load and compares transcripts with what was acknowledged: each
// accepted message is there once and in order, with the answer that was shown.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.stop()
	l.going.Wait()
	for i, u := range l.users {
		answers, order := map[string]string{}, []string{}
		last := ""
		for _, m := range u.transcript(t, l.world.Node(i)).Messages {
			switch m.Type {
			case "human":
				last = m.Content
				order = append(order, last)
			case "ai":
				answers[last] = m.Content
			}
		}
		rest := order
		for _, message := range u.accepted {
			at := slices.Index(rest, message)
			if at < 0 {
				t.Errorf("%q was accepted and is not in %q", message, order)
				continue
			}
			rest = rest[at+1:]
			frames, ok := u.answered[message]
			if !ok {
				continue // the load ended before the answer did
			}
			if shown := textOf(t, frames); shown != answerTo(message) || answers[message] != shown {
				t.Errorf("%q: shown %q, stored %q", message, shown, answers[message])
			}
		}
		slices.Sort(order)
		if n := len(order); len(slices.Compact(order)) != n {
			t.Errorf("a message was stored twice")
		}
	}
}
