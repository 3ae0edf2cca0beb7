package system_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/system"
)

// collector takes traces as an OpenTelemetry collector does, and keeps them as
// they came: texts are in clear in them.
type collector struct {
	server *httptest.Server
	mu     sync.Mutex
	raw    strings.Builder
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Errorf("traces: %v", err)
				return
			}
			body = unpacked
		}
		spans, err := io.ReadAll(body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("traces at %s: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(spans)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.server.Close)
	return c
}

func (c *collector) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// gateway is one telecom gateway's way to send an input. text is what was typed
// since the dial, joined by *; numbered says that repetitions are known by it or
// by a number.
type gateway struct {
	name     string
	numbered bool
	send     func(n *system.Node, session, phone, input, text string, hop int) (string, error)
}

func post(n *system.Node, method, path, media, body string) (string, error) {
	reply, err := n.Try(context.Background(),
		system.Call{Method: method, Path: path, Body: body, Header: http.Header{"Content-Type": {media}}})
	if err == nil && reply.Status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %s", path, reply.Status, reply.Body)
	}
	return string(reply.Body), err
}

func postJSON(n *system.Node, method, path string, body map[string]any) (string, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	return post(n, method, path, "application/json", string(raw))
}

const form = "application/x-www-form-urlencoded"

// gateways are all dialects that the program speaks.
var gateways = []gateway{
	{"json", true, func(n *system.Node, session, phone, _, text string, _ int) (string, error) {
		return postJSON(n, http.MethodPost, "/api/ussd",
			map[string]any{"sessionId": session, "serviceCode": "*2233*" + pinSecond + "#", "phoneNumber": phone, "text": text})
	}},
	{"africastalking", true, func(n *system.Node, session, phone, _, text string, _ int) (string, error) {
		v := url.Values{
			"sessionId": {session}, "serviceCode": {"*2233*2*1*" + pinFirst + "#"}, "phoneNumber": {phone},
			"networkCode": {"63902"}, "text": {text},
		}
		return post(n, http.MethodPost, "/api/ussd/africastalking", form, v.Encode())
	}},
	{"hubtel", true, func(n *system.Node, session, phone, input, _ string, hop int) (string, error) {
		kind := "Response"
		if hop == 1 {
			kind, input = "Initiation", "*2233#"
		}
		return postJSON(n, http.MethodPost, "/api/ussd/hubtel", map[string]any{
			"Type": kind, "Mobile": phone[1:], "SessionId": session, "ServiceCode": "2233", "Message": input, "Operator": "mtn", "Sequence": hop,
		})
	}},
	{"infobip", false, func(n *system.Node, session, phone, input, _ string, hop int) (string, error) {
		method, verb := http.MethodPut, "response"
		if hop == 1 {
			method, verb, input = http.MethodPost, "start", "*2233#"
		}
		return postJSON(n, method, "/api/ussd/infobip/session/"+session+"/"+verb, map[string]any{"msisdn": phone[1:], "shortCode": "*2233#", "text": input})
	}},
	{"arkesel", false, func(n *system.Node, session, phone, input, _ string, hop int) (string, error) {
		if hop == 1 {
			input = "*2233#"
		}
		return postJSON(n, http.MethodPost, "/api/ussd/arkesel", map[string]any{
			"sessionID": session, "userID": "U", "newSession": hop == 1, "msisdn": phone[1:], "userData": input, "network": "MTN",
		})
	}},
	{"nalo", false, func(n *system.Node, _, phone, input, _ string, hop int) (string, error) {
		if hop == 1 {
			input = "*2233#"
		}
		return postJSON(n, http.MethodPost, "/api/ussd/nalo", map[string]any{
			"USERID": "U", "MSISDN": phone[1:], "USERDATA": input, "MSGTYPE": hop == 1, "NETWORK": "MTN",
		})
	}},
}

// walk dials, types the inputs and looks for the part of each answer that must
// come. A gateway without numbers sends an equal input until it is no longer
// taken for a repetition.
func (g gateway) walk(t *testing.T, w *system.World, session, phone string, pairs ...string) {
	t.Helper()
	var typed []string
	for i := -2; i < len(pairs); i += 2 {
		input, want, hop := "", "Welcome to Castalia", len(typed)+1
		if i >= 0 {
			input, want = pairs[i], pairs[i+1]
			typed, hop = append(typed, input), len(typed)+2
		}
		again := !g.numbered && i >= 2 && pairs[i-2] == input
		send := func() error {
			got, err := g.send(w.Node(hop), session, phone, input, strings.Join(typed, "*"), hop)
			if err == nil && !strings.Contains(got, want) {
				err = fmt.Errorf("%s: input %d answers %q, want …%s…", g.name, hop, got, want)
			}
			return err
		}
		if again {
			system.Eventually(t, "the same input counts", send)
		} else if err := send(); err != nil {
			t.Fatal(err)
		}
	}
}

// The PINs of the test, and the numbers of its telephones.
const (
	pinFirst, pinSecond, pinWrong = "70382", "60481", "58203"
	numberStem                    = "26097144556" // and one digit per gateway
)

// Nothing that the program writes holds a PIN, whichever gateway brought it: not
// its log, not its traces and metrics, not what operators see, not the database.
// The log and the traces hold no telephone number either.
func TestSecretsOfTelephonesAreWrittenNowhere(t *testing.T) {
	t.Parallel()
	for _, shape := range []system.Shape{system.Embedded, system.Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			spans := newCollector(t)
			w := system.Start(t, shape, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.server.URL)
			ok := t.Run("type", func(t *testing.T) {
				for i, g := range gateways {
					t.Run(g.name, func(t *testing.T) {
						t.Parallel()
						typeSecrets(t, w, g, fmt.Sprintf("+%s%d", numberStem, i))
					})
				}
			})
			if !ok {
				return
			}
			var log, seen strings.Builder
			for i, g := range gateways {
				seen.WriteString(operatorsView(t, w.Node(i), g))
			}
			for _, n := range w.Nodes {
				metrics := n.Get(t, "/metrics")
				seen.Write(metrics.Body)
				if strings.Contains(string(metrics.Body), numberStem) {
					t.Error("a metric holds a telephone number")
				}
			}
			if list := w.Node(1).Get(t, "/api/ussd/sessions"); strings.Contains(string(list.Body), numberStem) {
				t.Errorf("a session is named by its telephone: %s", list.Body)
			}
			for _, path := range []string{"/api/ussd/sessions", "/api/ussd/live?limit=500", "/api/ussd/locks", "/api/ussd/funnel", "/api/ussd/graph"} {
				seen.Write(w.Node(1).Get(t, path).Body)
			}
			records := everyRecord(t, w)
			for _, n := range w.Nodes {
				n.Stop() // exports the last spans
				log.WriteString(n.Log())
			}
			for _, place := range []struct{ name, text, proof string }{
				{"log", log.String(), "/api/ussd/infobip/session/"},
				{"traces", spans.text(), "POST /api/ussd/hubtel"},
				{"operators' view", seen.String(), "isAuthenticated"},
				{"database", records, "userMainMenu"},
			} {
				if !strings.Contains(place.text, place.proof) {
					t.Errorf("%s: %q is not in it, so the search proves nothing (%d bytes)", place.name, place.proof, len(place.text))
				}
				for _, pin := range []string{pinFirst, pinSecond, pinWrong} {
					if found := ussdtest.Leak(place.text, pin); found != "" {
						t.Errorf("%s holds the PIN %s: %q", place.name, pin, found)
					}
				}
			}
			for name, text := range map[string]string{"log": log.String(), "traces": spans.text()} {
				if at := strings.Index(text, numberStem); at >= 0 {
					t.Errorf("%s holds a telephone number: %q", name, text[max(0, at-200):min(len(text), at+100)])
				}
			}
		})
	}
}

// typeSecrets types PINs wherever they can be typed.
func typeSecrets(t *testing.T, w *system.World, g gateway, phone string) {
	t.Helper()
	g.walk(t, w, "secret-a-"+g.name, phone, "2", "Account menu", "9", "Invalid", "2", "full name", pinFirst, "name", "Ann",
		"e-mail", "00", "PIN of 5",
		pinFirst, "again", pinWrong, "differ", pinFirst, "again", pinFirst, "account ID is",
		"1", "My account", "2", "present", pinWrong, "Wrong", pinFirst, "new PIN", pinSecond, "again", pinSecond, "changed", "*", "")
	g.walk(t, w, "secret-b-"+g.name, phone, "2", "Account menu", "1", "Enter your PIN", pinFirst, "Wrong", pinWrong+"1",
		"Wrong", pinSecond, "Welcome Ann", "1", "My account")
	if _, err := g.send(w.Node(0), strings.Repeat("x", 101), "+0"+numberStem, pinFirst, "2*1*"+pinFirst, 2); err != nil {
		t.Errorf("a refused request: %v", err)
	}
}

// operatorsView is all that an operator can see of the gateway's sessions.
func operatorsView(t *testing.T, n *system.Node, g gateway) string {
	t.Helper()
	var list struct{ ActiveSessions []string }
	n.Get(t, "/api/ussd/sessions").JSON(t, &list)
	var out strings.Builder
	for _, id := range []string{"secret-a-" + g.name, "secret-b-" + g.name} {
		switch g.name {
		case "json":
		case "nalo":
			at := slices.IndexFunc(list.ActiveSessions, func(id string) bool { return strings.HasPrefix(id, "nalo:tel-") })
			if at < 0 {
				t.Fatalf("no session of Nalo is among %q", list.ActiveSessions)
			}
			id = list.ActiveSessions[at] // it sends none of its own
		default:
			id = g.name + ":" + id
		}
		for _, path := range []string{"/api/ussd/debug/", "/api/ussd/timeline/"} {
			reply := n.Get(t, path+url.PathEscape(id))
			if reply.Status != http.StatusOK {
				t.Errorf("%s%s: %d %s", path, id, reply.Status, reply.Body)
			}
			out.Write(reply.Body)
		}
	}
	return out.String()
}

// everyRecord is the whole database: the data folder's files, or every row of
// every table.
func everyRecord(t *testing.T, w *system.World) string {
	t.Helper()
	var out strings.Builder
	if w.Shape == system.Embedded {
		err := filepath.WalkDir(w.Data, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			out.Write(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	db := w.Database()
	column := func(query string) (values []string) {
		rows, err := db.Read().QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return values
	}
	for _, table := range column(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`) {
		for _, row := range column(`SELECT t::text FROM "` + table + `" t`) {
			out.WriteString(row + "\n")
			for part := range strings.SplitSeq(row, `\x`) { // bytes are shown as hexadecimal digits
				end := strings.IndexFunc(part, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
				if end < 0 {
					end = len(part)
				}
				if raw, err := hex.DecodeString(part[:end]); err == nil {
					out.Write(raw)
					out.WriteByte('\n')
				}
			}
		}
	}
	return out.String()
}
