package ussdhttp_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// doomed are nodes on one database that are killed in the middle of PIN checks.
type doomed struct {
	t     *testing.T
	url   string
	nodes []*child
	asked atomic.Int64 // how many PINs were sent

	session atomic.Int64
	wrong   atomic.Int64 // how often a wrong PIN was answered as one
}

const (
	killedPIN = "70382"
	wrongOne  = "11927"
)

// ask sends a text, or fails with the node.
func (d *doomed) ask(node int, session, text string) (string, error) {
	body := `{"sessionId":"` + session + `","serviceCode":"*2233#","phoneNumber":"` + alice + `","text":"` + text + `"}`
	r, err := http.Post("http://"+d.nodes[node].addr+"/api/ussd", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }()
	answer, err := io.ReadAll(r.Body)
	return string(answer), err
}

// login dials and gives a PIN.
func (d *doomed) login(node int, pin string) (string, error) {
	session := fmt.Sprint("login", d.session.Add(1))
	for _, text := range []string{"", "2", "2*1"} {
		if answer, err := d.ask(node, session, text); err != nil || !strings.HasPrefix(answer, "CON ") {
			return "", fmt.Errorf("%q: %w", answer, err)
		}
	}
	d.asked.Add(1)
	return d.ask(node, session, "2*1*"+pin)
}

// round lets several telephones give a PIN at once, kills a node while they do,
// and starts it again.
func (d *doomed) round(pin string) {
	d.t.Helper()
	victim, after := rand.IntN(len(d.nodes)), d.asked.Load()+1+rand.Int64N(6)
	var wg sync.WaitGroup
	var kill sync.Once
	for i := range 6 {
		wg.Go(func() {
			answer, err := d.login(i%len(d.nodes), pin)
			if d.asked.Load() >= after {
				kill.Do(func() { _ = d.nodes[victim].cmd.Process.Kill() })
			}
			switch {
			case err != nil, answer == unavailable: // nobody was told anything
			case pin == wrongOne && strings.Contains(answer, "Wrong account"):
				d.wrong.Add(1)
			case pin == wrongOne && strings.Contains(answer, "Too many"):
			case pin == killedPIN && strings.Contains(answer, "Welcome Ann"):
			default:
				d.t.Errorf("PIN %s: %q", pin, answer)
			}
		})
	}
	wg.Wait()
	kill.Do(func() { _ = d.nodes[victim].cmd.Process.Kill() })
	_ = d.nodes[victim].cmd.Wait()
	d.nodes[victim] = startChild(d.t, d.url)
}

// failures is what is counted.
func (d *doomed) failures() (n int64) {
	d.t.Helper()
	db := sqldbtest.Open(d.t, d.url, sqldb.Options{})
	if err := db.Read().QueryRowContext(d.t.Context(), `SELECT COALESCE(SUM(failures), 0) FROM ussd_attempts`).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// TestKilledWhilePINsAreChecked kills nodes with kill -9 in the middle of logins.
// Right PINs leave no failure behind; of wrong ones at most five are answered,
// the last as a lock, and all that were answered are counted.
func TestKilledWhilePINsAreChecked(t *testing.T) {
	t.Parallel()
	for engine, nodes := range map[string]int{"sqlite": 1, "postgres": 2} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			d := &doomed{t: t, url: sqldbtest.SQLiteURL(t)}
			if engine == "postgres" {
				testenv.Need(t, "postgres")
				d.url = testenv.Postgres(t)
			}
			for range nodes {
				d.nodes = append(d.nodes, startChild(t, d.url))
			}
			for _, text := range []string{"", "2", "2*2", "2*2*Ann", "2*2*Ann*00", "2*2*Ann*00*" + killedPIN, "2*2*Ann*00*" + killedPIN + "*" + killedPIN} {
				if answer, err := d.ask(0, "new", text); err != nil || !strings.HasPrefix(answer, "CON ") {
					t.Fatalf("%q: %q %v", text, answer, err)
				}
			}
			for range 4 {
				d.round(killedPIN)
			}
			if n := d.failures(); n != 0 {
				t.Errorf("%d failures after right PINs alone", n)
			}
			answer := unavailable
			for answer == unavailable { // places of dead nodes lapse
				var err error
				if answer, err = d.login(0, killedPIN); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.Contains(answer, "Welcome Ann") {
				t.Fatalf("after the right PINs: %q", answer)
			}
			for range 6 {
				d.round(wrongOne)
			}
			if told, counted := d.wrong.Load(), d.failures(); told > 4 || counted > 5 || told > counted {
				t.Errorf("%d wrong PINs were answered as wrong, %d are counted", told, counted)
			}
		})
	}
}
