package oraclehttp_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// still is a clock that stands until it is moved.
type still struct {
	mu sync.Mutex
	at time.Time
}

func (c *still) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *still) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// exit is a door that everybody passes until somebody is shown out.
type exit struct {
	mu   sync.Mutex
	left map[string]bool
	ends []func()
}

func (d *exit) Admit(_ context.Context, p identity.Principal) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left[p.DID] {
		return "", fault.New(fault.Forbidden, "not a member")
	}
	return p.DID, nil
}

func (*exit) Bar(identity.Principal) error { return nil }

func (d *exit) OnLeave(_ identity.Principal, end func()) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = append(d.ends, end)
	return func() {}
}

func (d *exit) showOut(did string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = map[string]bool{did: true}
	for _, end := range d.ends {
		end()
	}
}

// lasting is an oracle whose answers wait, and the clock by which tokens expire.
type lasting struct {
	*oracletest.Node
	clock   *still
	door    *exit
	expires time.Time
	letGo   func()
}

func startLasting(t *testing.T, change ...func(*oraclekit.Deps)) *lasting {
	t.Helper()
	wait := make(chan struct{})
	answer := scripted.Text("Hello", " again")
	answer.Wait = wait
	l := &lasting{clock: &still{at: time.Now()}, door: &exit{}, letGo: sync.OnceFunc(func() { close(wait) })}
	l.expires = l.clock.at.Truncate(time.Second).Add(time.Minute)
	l.Node = oracletest.Start(t, scripted.Sequence(answer), append([]func(*oraclekit.Deps){func(d *oraclekit.Deps) {
		d.Identity = identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Now, d.Door = l.clock.now, l.door })
	}}, change...)...)
	t.Cleanup(l.letGo) // before the node stops, which waits for its runs
	return l
}

// brief returns a client whose invocation expires when the test says so.
func (l *lasting) brief(t *testing.T, who identitytest.Actor, nonce string) *oracletest.Client {
	t.Helper()
	return l.As(t, who, identitytest.Expires(l.expires), identitytest.Nonce(nonce))
}

// begin sends a message in the last moment of its token, and returns what it
// answers once the model has spoken and the token has expired.
func (l *lasting) begin(t *testing.T, c *oracletest.Client,
	stream bool,
) (run string, answer func() oracletest.Response) {
	t.Helper()
	session := c.Session()
	l.clock.set(l.expires.Add(-time.Millisecond))
	answered := make(chan oracletest.Response, 1)
	go func() {
		defer close(answered)
		resp, err := c.Open(t.Context(), "POST", "/messages/"+session, map[string]any{"message": "hi", "stream": stream})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		data, _ := io.ReadAll(resp.Body)
		answered <- oracletest.Response{Status: resp.StatusCode, Header: resp.Header, Body: data}
	}()
	for run == "" && t.Context().Err() == nil {
		select {
		case r := <-answered:
			t.Fatalf("the answer ended early: %d %s", r.Status, r.Body)
		default:
		}
		var body struct{ Run *struct{ RunID string } }
		c.Do("GET", "/sessions/"+session+"/run", nil).JSON(t, &body)
		if body.Run != nil {
			run = body.Run.RunID
		}
	}
	waitForText(t, c, run)
	l.clock.set(l.expires)
	if r := c.Do("GET", "/sessions", nil); r.Status != http.StatusUnauthorized {
		t.Fatalf("the token did not expire: %d", r.Status)
	}
	return run, func() oracletest.Response {
		t.Helper()
		return <-answered
	}
}

// revoke withdraws the client's invocation, as its issuer may at any time.
func (l *lasting) revoke(t *testing.T, c *oracletest.Client) {
	t.Helper()
	token, err := ucan.Parse(c.Token())
	must(t, err)
	_, err = l.Identity.RevokeByOperator(t.Context(), identity.RevokedToken, token.CID())
	must(t, err)
}

func isWhole(t *testing.T, r oracletest.Response) bool {
	t.Helper()
	frames := oracletest.Frames(t, r.Body)
	return r.Status == http.StatusOK && len(frames) > 0 && frames[len(frames)-1].Event == oracle.FrameDone
}

func TestAnAnswerOutlivesItsToken(t *testing.T) {
	t.Parallel()
	l := startLasting(t)
	run, answer := l.begin(t, l.brief(t, identitytest.Alice, "stream"), true)
	l.letGo()
	if r := answer(); !isWhole(t, r) || r.Header.Get("X-Run-Id") != run {
		t.Errorf("the stream: %d %s", r.Status, r.Body)
	}

	l = startLasting(t)
	_, answer = l.begin(t, l.brief(t, identitytest.Alice, "reply"), false)
	l.letGo()
	var reply struct{ Message struct{ Content string } }
	r := answer()
	r.JSON(t, &reply)
	if r.Status != http.StatusOK || reply.Message.Content != "Hello again" {
		t.Errorf("the reply: %d %s", r.Status, r.Body)
	}
}

// The published client joins a stream again with the headers that it had.
func TestTheTokenThatBeganARunReadsItToItsEnd(t *testing.T) {
	t.Parallel()
	l := startLasting(t)
	c := l.brief(t, identitytest.Alice, "began")
	run, answer := l.begin(t, c, true)

	for name, other := range map[string]*oracletest.Client{
		"another token of the same user": l.brief(t, identitytest.Alice, "other"),
		"somebody else's":                l.brief(t, identitytest.Bob, "began"),
	} {
		if r := other.Do("GET", "/runs/"+run, nil); r.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := c.Do("GET", "/runs/"+oracle.NewID(), nil); r.Status != http.StatusUnauthorized {
		t.Errorf("a run that is not there: %d", r.Status)
	}
	joined, err := c.Open(t.Context(), "GET", "/runs/"+run+"?after=2", nil) //nolint:bodyclose // Stream closes it
	must(t, err)
	if joined.StatusCode != http.StatusOK {
		t.Fatalf("joined while it runs: %d", joined.StatusCode)
	}
	l.letGo()
	if frames := oracletest.Stream(t, joined); len(frames) == 0 || frames[len(frames)-1].Event != oracle.FrameDone {
		t.Errorf("joined while it runs: %v", frames)
	}
	if r := answer(); !isWhole(t, r) {
		t.Errorf("the first stream: %d %s", r.Status, r.Body)
	}
	if r := c.Do("GET", "/runs/"+run, nil); !isWhole(t, r) {
		t.Errorf("after its end: %d %s", r.Status, r.Body)
	}
	// Nothing else is open to it.
	for _, path := range []string{"/sessions", "/delegation"} {
		if r := c.Do("GET", path, nil); r.Status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	l.revoke(t, c)
	if r := c.Do("GET", "/runs/"+run, nil); r.Status != http.StatusUnauthorized {
		t.Errorf("after its revocation: %d %s", r.Status, r.Body)
	}
}

func TestARunThatEndedLongAgoWantsAFreshToken(t *testing.T) {
	t.Parallel()
	l := startLasting(t, func(d *oraclekit.Deps) { d.Run.Lingering = time.Nanosecond })
	c := l.brief(t, identitytest.Alice, "began")
	run, answer := l.begin(t, c, true)
	l.letGo()
	if r := answer(); !isWhole(t, r) {
		t.Fatalf("the stream: %d %s", r.Status, r.Body)
	}
	if r := c.Do("GET", "/runs/"+run, nil); r.Status != http.StatusUnauthorized {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestRevocationEndsAnAnswerAlsoAfterExpiry(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, l *lasting, c *oracletest.Client){
		"revoked": func(t *testing.T, l *lasting, c *oracletest.Client) { t.Helper(); l.revoke(t, c) },
		"left":    func(_ *testing.T, l *lasting, _ *oracletest.Client) { l.door.showOut(identitytest.Alice.DID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLasting(t)
			c := l.brief(t, identitytest.Alice, "stream")
			run, answer := l.begin(t, c, true)
			end(t, l, c)
			if r := answer(); isWhole(t, r) {
				t.Errorf("the stream went on: %s", r.Body)
			}
			if r := c.Do("GET", "/runs/"+run, nil); r.Status != http.StatusUnauthorized && r.Status != http.StatusForbidden {
				t.Errorf("joined again: %d", r.Status)
			}

			l = startLasting(t)
			c = l.brief(t, identitytest.Alice, "reply")
			_, answer = l.begin(t, c, false)
			end(t, l, c)
			if r := answer(); r.Status != http.StatusUnauthorized {
				t.Errorf("the reply: %d %s", r.Status, r.Body)
			}
		})
	}
}
