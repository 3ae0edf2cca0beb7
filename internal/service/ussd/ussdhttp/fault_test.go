package ussdhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func TestADatabaseThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	var breaker sqldbtest.Breaker
	g := newGateway(t, options{fault: breaker.Fault})
	g.send("s1", alice, "")
	g.send("s1", alice, "2")
	breaker.Break()
	for _, text := range []string{"2*2", "2*2"} {
		if got := g.send("s1", alice, text); got != unavailable {
			t.Errorf("%q", got)
		}
	}
	if got := g.send("new", alice, ""); got != unavailable {
		t.Errorf("%q", got)
	}
	if r := g.get("/api/ussd/sessions"); r.status != http.StatusServiceUnavailable {
		t.Errorf("%+v", r)
	}
	breaker.Restore()
	if got := g.send("s1", alice, "2*2"); !strings.Contains(got, "full name") {
		t.Errorf("after the outage: %q", got)
	}
	if got := g.send("new", alice, ""); got != welcome {
		t.Errorf("after the outage: %q", got)
	}
}

// The commit happened, its acknowledgement was lost: the user is told to try
// again, and the repeated request finds the answer.
func TestALostAcknowledgementMovesOnce(t *testing.T) {
	t.Parallel()
	var breaker sqldbtest.Breaker
	g := newGateway(t, options{fault: breaker.Fault})
	g.send("s1", alice, "")
	g.send("s1", alice, "2")
	breaker.LoseAcks(1)
	if got := g.send("s1", alice, "2*2"); got != unavailable {
		t.Fatalf("%q", got)
	}
	if got := g.send("s1", alice, "2*2"); !strings.Contains(got, "full name") {
		t.Errorf("%q", got)
	}
	breaker.FailCommits(1)
	if got := g.send("s1", alice, "2*2*Ann"); got != unavailable {
		t.Fatalf("%q", got)
	}
	if got := g.send("s1", alice, "2*2*Ann"); !strings.Contains(got, "e-mail") {
		t.Errorf("%q", got)
	}
	breaker.LoseAcks(1)
	if got := g.send("s2", alice, ""); got != unavailable {
		t.Fatalf("%q", got)
	}
	if got := g.send("s2", alice, ""); got != welcome {
		t.Errorf("%q", got)
	}
}

// A process that is killed between any two hops loses no session.
func TestKilledBetweenHops(t *testing.T) {
	t.Parallel()
	url := sqldbtest.SQLiteURL(t)
	text := ""
	for i, step := range [][2]string{
		{"", "CON Welcome"},
		{"2", "CON Account menu"},
		{"2", "CON Create"},
		{"Ann", "CON Enter your e"},
		{"00", "CON Choose"},
		{"70382", "CON Enter the PIN again"},
		{"70382", "CON Welcome Ann"},
	} {
		if i > 1 {
			text += "*"
		}
		text += step[0]
		c := startChild(t, url)
		l := dialLine(t, c.addr)
		body := `{"sessionId":"k1","serviceCode":"*2233#","phoneNumber":"` + alice + `","text":"` + text + `"}`
		for range 2 { // and once more, as the gateway that heard nothing would
			got, err := l.post("/api/ussd", body)
			if err != nil || !strings.HasPrefix(got, step[1]) {
				t.Fatalf("text %q: %q (%v)", text, got, err)
			}
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
	}
}

// A PIN is nowhere but in the user's head: not in the log, not in the database
// (which is searched byte by byte), not in what operators see.
func TestAPINIsWrittenNowhere(t *testing.T) {
	t.Parallel()
	const pin, next = "70382", "60481"
	g := newGateway(t, options{})
	type step struct{ input, want string }
	walk := func(id string, steps ...step) {
		t.Helper()
		text := ""
		g.send(id, alice, "")
		for i, s := range steps {
			if i > 0 {
				text += "*"
			}
			text += s.input
			if got := g.send(id, alice, text); !strings.Contains(got, s.want) {
				t.Fatalf("%q: %q", text, got)
			}
			for _, path := range []string{"/api/ussd/debug/", "/api/ussd/timeline/", "/api/ussd/live?x="} {
				body := g.get(path + id).body
				if ussdtest.Leak(body, pin)+ussdtest.Leak(body, next) != "" {
					t.Errorf("%s shows the PIN: %s", path, body)
				}
			}
		}
	}
	walk("s1", step{"2", ""}, step{"2", ""}, step{"Ann", ""}, step{"00", ""}, step{pin, "again"}, step{"99998", "differ"},
		step{pin, "again"}, step{pin, "account ID is"},
		step{"1", "My account"}, step{"2", "present"}, step{pin, "new PIN"}, step{next, "again"}, step{next, "changed"})
	walk("s2", step{"2", ""}, step{"1", "Enter your PIN"}, step{pin, "Wrong"}, step{next + "1", "Wrong"}, step{next, "Welcome Ann"})
	g.send("s3", alice, "2*1*"+next)      // walked, up to the PIN
	g.send("s4", alice, "2*2*Ann*"+pin)   // typed where it does not belong
	g.send("s5", "+1", "2*1*"+next+"*00") // refused
	// A whole journey in one code, of gateways that do not say what of it is the code.
	dialled := "*928*99*2*1*" + next + "#"
	for path, body := range map[string]string{
		"/api/ussd/arkesel":                  `{"sessionID":"a1","newSession":true,"msisdn":"260971230001","userData":"` + dialled + `"}`,
		"/api/ussd/nalo":                     `{"SESSIONID":"n1","MSISDN":"260971230001","USERDATA":"` + dialled + `","MSGTYPE":true}`,
		"/api/ussd/infobip/session/i1/start": `{"msisdn":"260971230001","text":"` + dialled + `"}`,
	} {
		if r := g.do(http.MethodPost, path, "application/json", body); !strings.Contains(r.body, "Welcome") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	// The same from gateways that call all of it the code.
	for i, path := range []string{"/api/ussd", "/api/ussd/africastalking"} {
		for j, text := range []string{"", "2*1", "2*1*" + next} {
			id := fmt.Sprintf("code%d-%d", i, j)
			body := `{"sessionId":"` + id + `","serviceCode":"*2233*2*1*` + next + `#","phoneNumber":"` + alice + `","text":"` + text + `"}`
			if r := g.do(http.MethodPost, path, "application/json", body); !strings.HasPrefix(r.body, "CON ") {
				t.Errorf("%s: %+v", path, r)
			}
			for _, look := range []string{"debug/", "timeline/", "live?x="} {
				shown := g.get("/api/ussd/" + look + id).body
				if !strings.Contains(shown, `"serviceCode":"*2233*2*1*••••#"`) || ussdtest.Leak(shown, next) != "" {
					t.Errorf("%s shows %s", look, shown)
				}
			}
		}
	}
	log := g.log.String()
	if !strings.Contains(log, `"msg":"request"`) {
		t.Error("the log is empty: the search proves nothing")
	}
	if err := g.db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM ussd_counts WHERE day = 'never'`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Dir(dbFile(t, g)) + "/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no database files: %v", err)
	}
	for _, secret := range []string{pin, next} {
		if found := ussdtest.Leak(log, secret); found != "" {
			t.Errorf("the log contains a PIN: %q", found)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := ussdtest.Leak(string(raw), secret); found != "" {
				t.Errorf("%s contains a PIN: %q", filepath.Base(file), found)
			}
		}
	}
}

// dbFile asks SQLite where its file is.
func dbFile(t *testing.T, g *gateway) string {
	t.Helper()
	var seq int
	var name, file string
	if err := g.db.Read().QueryRowContext(t.Context(), `PRAGMA database_list`).Scan(&seq, &name, &file); err != nil {
		t.Fatal(err)
	}
	return file
}
