package ussdhttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// stuckStore hangs in the call that it is told to hang in, and does not look at
// its context.
type stuckStore struct {
	ussd.Store
	where string
	stuck chan struct{}
}

func (s *stuckStore) at(call string) {
	if s.where == call {
		<-s.stuck
	}
}

func (s *stuckStore) Commit(ctx context.Context, c ussd.Change) error {
	s.at("Commit")
	return s.Store.Commit(ctx, c)
}

func (s *stuckStore) Session(ctx context.Context, id string) (*ussd.Session, error) {
	s.at("Session")
	return s.Store.Session(ctx, id)
}

func (s *stuckStore) Phone(ctx context.Context, phone string) (ussd.PhoneInfo, error) {
	s.at("Phone")
	return s.Store.Phone(ctx, phone)
}

func (s *stuckStore) Claim(ctx context.Context, c ussd.Claim) (ussdpin.Attempt, error) {
	s.at("Claim")
	return s.Store.Claim(ctx, c)
}

// Ask makes it an oracle that hangs as well.
func (s *stuckStore) Ask(context.Context, ussdquestion.Question) (string, error) {
	<-s.stuck
	return "", context.DeadlineExceeded
}

// LookUpEntity makes it a chain that hangs as well.
func (s *stuckStore) LookUpEntity(context.Context, string) (string, error) {
	<-s.stuck
	return "", context.DeadlineExceeded
}

func newStuck(t *testing.T, inFlight int, change ...func(*ussd.Config)) (*gateway, *stuckStore) {
	t.Helper()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), ussdsql.Migrations())
	store := &stuckStore{Store: ussdsql.New(db), stuck: make(chan struct{})}
	g := &gateway{t: t, db: db}
	g.svc = ussdtest.Service(t, store, append(change, func(c *ussd.Config) { c.Oracle, c.LookUp = store, store })...)
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(ussdhttp.Surface(g.svc, ussdhttp.Deps{InFlight: inFlight})); err != nil {
		t.Fatal(err)
	}
	g.server = server
	return g, store
}

// However many hang, and more than may be in flight, everybody is answered; when
// they come loose the session goes on.
func TestAnAnswerComesWhateverHangs(t *testing.T) {
	t.Parallel()
	g, store := newStuck(t, 2, func(c *ussd.Config) { c.Deadline = 50 * time.Millisecond })
	g.send("s1", alice, "")
	store.where = "Commit"
	for range 4 {
		if got := g.send("s1", alice, "1"); got != unavailable {
			t.Errorf("%q", got)
		}
	}
	close(store.stuck)
	for g.send("s1", alice, "1") == unavailable { // the hung ones leave their places
	}
	if got := g.send("s1", alice, "1"); !strings.HasPrefix(got, "CON What would") {
		t.Errorf("%q", got)
	}
}

// What nobody worked on to its end is a failed request to operators all the same.
func TestWhoIsToldNothingIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, store := newStuck(t, 2)
		defer close(store.stuck)
		ids := []string{"s1", "s2", "s3", "s4"} // two hang, and two find no place
		for _, id := range ids {
			g.send(id, alice, "")
		}
		store.where = "Commit"
		for _, id := range ids {
			if got := g.send(id, alice, "1"); got != unavailable {
				t.Errorf("%s: %q", id, got)
			}
		}
		counts, err := g.svc.Counts(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := ussdcount.Sum(counts).Gateways; len(got) != 1 || got[0].Requests != 8 || got[0].Failed != 4 {
			t.Errorf("operators read %+v", got)
		}
	})
}

// A gateway waits ten seconds at most. With the settings as they are, an answer
// comes within eight, whatever is stuck behind it.
func TestAnAnswerComesWithinEightSeconds(t *testing.T) {
	t.Parallel()
	account := []string{"2", "2", "Ann", "00", "70382", "70382"}
	for where, inputs := range map[string][]string{
		"Commit":  {"1"},
		"Session": nil, // the dial of a session that is there
		"Phone":   {"2"},
		"Claim":   account,
		"oracle":  append(account[:6:6], "1", "5", "When?"),
		"chain":   append(account[:6:6], "1", "6", "did:ixo:entity:1"),
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, store := newStuck(t, 0)
				defer close(store.stuck)
				g.send("s1", alice, "")
				for i := range len(inputs) - 1 {
					if got := g.send("s1", alice, strings.Join(inputs[:i+1], "*")); !strings.HasPrefix(got, "CON ") {
						t.Fatalf("input %d: %q", i, got)
					}
				}
				store.where = where
				start := time.Now()
				got := g.send("s1", alice, strings.Join(inputs, "*"))
				took := time.Since(start)
				switch {
				case took < time.Second || took > 8*time.Second:
					t.Errorf("the answer %q took %v: nothing hung, or too long", got, took)
				case where != "oracle" && where != "chain" && got != unavailable:
					t.Errorf("%q", got)
				case !strings.HasPrefix(got, "CON ") && got != unavailable:
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// A gateway that says that a session is over is not kept waiting either.
func TestTheEndOfASessionIsAnsweredWhateverHangs(t *testing.T) {
	t.Parallel()
	for path, call := range map[string][3]string{
		"/api/ussd/hubtel":                {http.MethodPost, "application/json", `{"Type":"Release","Mobile":"260971230001","SessionId":"s1"}`},
		"/api/ussd/infobip/session/1/end": {http.MethodPut, "application/json", `{"reason":"gone"}`},
		"/api/ussd/africastalking/events": {http.MethodPost, "application/x-www-form-urlencoded", "sessionId=s1&phoneNumber=%2B260971230001"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, store := newStuck(t, 0)
				defer close(store.stuck)
				store.where = "Session"
				start := time.Now()
				r := g.do(call[0], path, call[1], call[2])
				if took := time.Since(start); r.status != http.StatusGatewayTimeout || took < time.Second || took > 8*time.Second {
					t.Errorf("%d %s after %v", r.status, r.body, took)
				}
			})
		})
	}
}

// Until a starting node has its database, gateways hear the text of an outage in
// their own dialect, and nothing is remembered.
func TestANodeWithoutItsDatabaseAnswersGateways(t *testing.T) {
	t.Parallel()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(ussdhttp.Away(ussdhttp.Deps{Limiter: ratelimit.NewLimiter(ratelimit.LimiterConfig{
		Name:      "telephone",
		PerMinute: 8,
	})})); err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, server: server}
	for _, path := range []string{"/api/ussd", "/api/ussd/africastalking"} {
		r := g.do(http.MethodPost, path, "application/json", `{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`)
		if r.status != http.StatusOK || r.body != unavailable || r.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if r := g.post("{"); r.status != http.StatusOK || r.body != invalid {
		t.Errorf("%+v", r)
	}
	text := strings.TrimPrefix(unavailable, "END ")
	for path, body := range map[string]string{
		"/api/ussd/hubtel":  `{"Type":"Initiation","Mobile":"260971230001","SessionId":"s1","ServiceCode":"714","Message":"*714#","Sequence":1}`,
		"/api/ussd/arkesel": `{"sessionID":"s1","userID":"u","newSession":true,"msisdn":"260971230001","userData":"*714#"}`,
		"/api/ussd/nalo":    `{"USERID":"u","MSISDN":"260971230001","USERDATA":"*714#","MSGTYPE":true}`,
	} {
		if r := g.do(http.MethodPost, path, "application/json", body); r.status != http.StatusOK || !strings.Contains(r.body, text) {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if r := g.do(http.MethodPost, "/api/ussd/africastalking/events", "application/x-www-form-urlencoded",
		"sessionId=s1"); r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("%+v", r)
	}
	g.post("{")
	if r := g.post("{"); r.status != http.StatusTooManyRequests || r.body != unavailable || r.header.Get("Retry-After") == "" {
		t.Errorf("the counter is not kept: %+v", r)
	}
}
