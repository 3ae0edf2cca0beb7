package ussdhttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

func (g *gateway) json(method, path, body string, out any) {
	g.t.Helper()
	r := g.do(method, path, "application/json", body)
	if err := json.Unmarshal([]byte(r.body), out); err != nil || r.status != 200 {
		g.t.Fatalf("%s %s: %+v", path, body, r)
	}
}

func TestAfricasTalking(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	form := func(path string, v url.Values) reply {
		return g.do(http.MethodPost, path, "application/x-www-form-urlencoded", v.Encode())
	}
	v := url.Values{"sessionId": {"ATUid_1"}, "phoneNumber": {alice}, "networkCode": {"64501"}, "serviceCode": {"*384*123#"}, "text": {""}}
	if r := form("/api/ussd/africastalking", v); r.body != welcome {
		t.Errorf("%+v", r)
	}
	v.Set("text", "1*3")
	for range 2 { // the accumulated text is the sequence
		if r := form("/api/ussd/africastalking", v); !strings.HasPrefix(r.body, "CON Answers come") {
			t.Errorf("%+v", r)
		}
	}
	for _, number := range []string{"", bob} { // who does not know the number ends nobody's session
		form("/api/ussd/africastalking/events", url.Values{"sessionId": {"ATUid_1"}, "phoneNumber": {number}})
		if r := g.get("/api/ussd/debug/ATUid_1"); !strings.Contains(r.body, `"status":"active"`) {
			t.Errorf("%q ended the session: %+v", number, r)
		}
	}
	end := url.Values{"sessionId": {"ATUid_1"}, "phoneNumber": {alice}, "serviceCode": {"*384*123#"}, "status": {"Incomplete"}, "hopsCount": {"2"}}
	if r := form("/api/ussd/africastalking/events", end); r.status != 200 {
		t.Errorf("%+v", r)
	}
	if r := g.get("/api/ussd/debug/ATUid_1"); !strings.Contains(r.body, `"status":"done"`) {
		t.Errorf("%+v", r)
	}
	if r := form("/api/ussd/africastalking/events", url.Values{}); r.status != 200 || r.body != invalid {
		t.Errorf("%+v", r)
	}
	// Others that speak like it leave the plus out, or send it unescaped: then it is a space.
	plain := url.Values{"sessionId": {"ATUid_2"}, "phoneNumber": {alice[1:]}, "serviceCode": {"*384*123#"}, "text": {""}}
	if r := form("/api/ussd/africastalking", plain); r.body != welcome {
		t.Errorf("without a plus: %+v", r)
	}
	plain.Set("phoneNumber", " "+alice[1:])
	plain.Set("text", "1*3")
	if r := form("/api/ussd/africastalking", plain); !strings.HasPrefix(r.body, "CON Answers come") {
		t.Errorf("with a space: %+v", r)
	}
	if form("/api/ussd/africastalking/events", plain); !strings.Contains(g.get("/api/ussd/debug/ATUid_2").body, `"status":"done"`) {
		t.Error("the notice without a plus ended nothing")
	}
	if r := form("/api/ussd", plain); r.body != invalid {
		t.Errorf("the session endpoint is strict: %+v", r)
	}
}

func TestHubtel(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	send := func(kind, message string, sequence string) (out ussdhttp.HubtelReply) {
		g.json(http.MethodPost, "/api/ussd/hubtel", `{"Type":"`+kind+`","Mobile":"260971230001","SessionId":"h1","ServiceCode":"714",
			"Message":"`+message+`","Operator":"vodafone","Sequence":`+sequence+`,"ClientState":"c"}`, &out)
		return out
	}
	first := send("Initiation", "*714#", "1")
	if first.Type != "Response" || first.SessionID != "h1" || !strings.HasPrefix(first.Message, "Welcome") ||
		first.DataType != "input" || first.ClientState != "c" {
		t.Errorf("%+v", first)
	}
	one := send("Response", "1", "2")
	if again := send("Response", "1", "2"); again != one || !strings.HasPrefix(one.Message, "What would") {
		t.Errorf("a repeated sequence moved: %+v", again)
	}
	// The first request, delivered late, does not begin anew.
	if again := send("Initiation", "*714#", "1"); again != one {
		t.Errorf("a late delivery moved: %+v", again)
	}
	// The same digit under the next number is a new input.
	if two := send("Response", "1", "3"); !strings.HasPrefix(two.Message, "Castalia gives") {
		t.Errorf("%+v", two)
	}
	if last := send("Response", "*", "4"); last.Type != "Release" || last.DataType != "display" {
		t.Errorf("%+v", last)
	}
	if walked := send("Initiation", "*714*1*2#", "1"); !strings.HasPrefix(walked.Message, "Reading menus") {
		t.Errorf("%+v", walked)
	}
	if over := send("Timeout", "", "2"); over.Type != "Release" {
		t.Errorf("%+v", over)
	}
	if r := g.get("/api/ussd/debug/hubtel:h1"); !strings.Contains(r.body, `"status":"done"`) {
		t.Errorf("%+v", r)
	}
}

// TestTheEndIsOfOneDialect takes no id that a gateway cannot have.
func TestTheEndIsOfOneDialect(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	var out ussdhttp.HubtelReply
	g.json(http.MethodPost, "/api/ussd/hubtel", `{"Type":"Initiation","Mobile":"260971230001","SessionId":"h1","ServiceCode":"714","Message":"*714#","Sequence":1}`, &out)
	for _, id := range []string{"hubtel\x1fh1", "h1\x00", strings.Repeat("x", 101), "\u202eh1"} {
		form := url.Values{"sessionId": {id}, "phoneNumber": {alice}}.Encode()
		if r := g.do(http.MethodPost, "/api/ussd/africastalking/events", "application/x-www-form-urlencoded", form); r.status != 200 || r.body != invalid {
			t.Errorf("%q: %+v", id, r)
		}
		path := "/api/ussd/infobip/session/" + url.PathEscape(id) + "/end"
		if r := g.do(http.MethodPut, path, "application/json", `{"reason":"","exitCode":0}`); r.status != 200 || !strings.Contains(r.body, "Invalid input") {
			t.Errorf("%q: %+v", id, r)
		}
	}
	if r := g.get("/api/ussd/debug/hubtel:h1"); !strings.Contains(r.body, `"status":"active"`) {
		t.Errorf("%+v", r)
	}
}

// TestADialectSaysOneThing takes no body that names two callers.
func TestADialectSaysOneThing(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	for _, body := range []string{
		`{"Type":"Initiation","Mobile":"260971230001","Mobile":"260971230002","SessionId":"h9","ServiceCode":"714","Message":"*714#","Sequence":1}`,
		`{"Type":"Initiation","Mobile":"260971230001","mobile":"260971230002","SessionId":"h9","ServiceCode":"714","Message":"*714#","Sequence":1}`,
	} {
		if r := g.do(http.MethodPost, "/api/ussd/hubtel", "application/json", body); !strings.Contains(r.body, "Invalid input") {
			t.Errorf("%s: %+v", body, r)
		}
	}
}

func TestInfobip(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	send := func(method, verb, text string) (out ussdhttp.InfobipReply) {
		g.json(method, "/api/ussd/infobip/session/i1/"+verb, `{"msisdn":"260971230001","imsi":"1","shortCode":"*120*11#","optional":"",
			"ussdNodeId":"n","text":"`+text+`","networkName":"x","countryName":"y"}`, &out)
		return out
	}
	for range 2 {
		if r := send(http.MethodPost, "start", "*120*11#"); r.ShouldClose || r.ResponseExitCode != 200 ||
			!strings.HasPrefix(r.USSDMenu, "Welcome") {
			t.Errorf("%+v", r)
		}
	}
	for range 2 { // a repeated delivery: the account menu has a 2 as well
		if r := send(http.MethodPut, "response", "2"); !strings.HasPrefix(r.USSDMenu, "Account menu") {
			t.Errorf("%+v", r)
		}
	}
	clock.Jump(2 * time.Second)
	if r := send(http.MethodPut, "response", "2"); !strings.HasPrefix(r.USSDMenu, "Create account") {
		t.Errorf("the same digit, typed later: %+v", r)
	}
	for range 2 {
		if r := send(http.MethodPut, "response", "*"); !r.ShouldClose {
			t.Errorf("%+v", r)
		}
	}
	for range 2 {
		var end ussdhttp.InfobipReply
		g.json(http.MethodPut, "/api/ussd/infobip/session/i1/end", `{"reason":"closed","exitCode":200}`, &end)
		if !end.ShouldClose {
			t.Errorf("%+v", end)
		}
	}
}

// Whoever knows the id of a session ends it only where it is known who calls: the notice has
// no number.
func TestInfobipsEndIsTheGateways(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "g.yaml")
	if err := os.WriteFile(list, []byte("gateways: {infobip: {addresses: [192.0.2.0/24, 127.0.0.0/8]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	gate, err := ussdgate.Read(list, ussd.Dialects())
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]options{`"status":"active"`: {}, `"status":"done"`: {gate: gate}} {
		g := newGateway(t, o)
		for _, call := range [][3]string{
			{http.MethodPost, "start", `{"msisdn":"260971230001","shortCode":"*120*11#","text":"*120*11#"}`}, {http.MethodPut, "end", `{"reason":"closed","exitCode":200}`},
		} {
			if r := g.do(call[0], "/api/ussd/infobip/session/i1/"+call[1], "application/json", call[2]); r.status != http.StatusOK || strings.Contains(r.body, "Invalid") {
				t.Errorf("%+v", r)
			}
		}
		if r := g.get("/operator/ussd/debug/infobip:i1"); !strings.Contains(r.body, want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestArkesel(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	send := func(fresh, data string) (out ussdhttp.ArkeselReply) {
		g.json(http.MethodPost, "/api/ussd/arkesel", `{"sessionID":"a1","userID":"U","newSession":`+fresh+`,"msisdn":"233544919953",
			"userData":"`+data+`","network":"MTN"}`, &out)
		return out
	}
	if r := send("true", "*928*99#"); !r.ContinueSession || r.SessionID != "a1" || r.UserID != "U" ||
		r.MSISDN != "233544919953" || !strings.HasPrefix(r.Message, "Welcome") {
		t.Errorf("%+v", r)
	}
	one := send("false", "1")
	if again := send("false", "1"); again != one {
		t.Errorf("an echo moved: %+v", again)
	}
	// There is no number here: what tells the same digit from an echo is that
	// somebody read a screen in between.
	clock.Jump(2 * time.Second)
	if about := send("false", "1"); !strings.HasPrefix(about.Message, "Castalia gives") {
		t.Errorf("the same digit, typed later: %+v", about)
	}
	if r := send("false", "*"); r.ContinueSession {
		t.Errorf("%+v", r)
	}
}

func TestNalo(t *testing.T) {
	t.Parallel()
	clock := ussdtest.NewClock()
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set}})
	send := func(first, data string) (out ussdhttp.NaloReply) {
		g.json(http.MethodPost, "/api/ussd/nalo", `{"USERID":"NALOTest","MSISDN":"233201234567","USERDATA":"`+data+`","MSGTYPE":`+first+`,"NETWORK":"MTN"}`, &out)
		return out
	}
	for range 2 {
		if r := send("true", "*920*1#"); !r.MsgType || r.UserID != "NALOTest" || !strings.HasPrefix(r.Msg, "Welcome") {
			t.Errorf("%+v", r)
		}
	}
	for range 2 {
		if r := send("false", "2"); !strings.HasPrefix(r.Msg, "Account menu") {
			t.Errorf("%+v", r)
		}
	}
	clock.Jump(2 * time.Second)
	if r := send("false", "2"); !strings.HasPrefix(r.Msg, "Create account") {
		t.Errorf("the same digit, typed later: %+v", r)
	}
	for range 2 {
		if r := send("false", "*"); r.MsgType {
			t.Errorf("%+v", r)
		}
	}
	// Without a session id the telephone is the session: a new dial begins anew.
	if r := send("true", "*920*1#"); !r.MsgType || !strings.HasPrefix(r.Msg, "Welcome") {
		t.Errorf("%+v", r)
	}
	// Its number is no id: lists and logs would show it.
	var list ussdhttp.ActiveList
	if r := g.get("/api/ussd/sessions"); json.Unmarshal([]byte(r.body), &list) != nil || list.Count != 1 ||
		strings.Contains(r.body, "233201234567") {
		t.Fatalf("%+v", r)
	}
	if r := g.get("/api/ussd/live"); r.status != http.StatusOK || strings.Contains(r.body, "233201234567") {
		t.Errorf("%+v", r)
	}
	if r := g.get("/api/ussd/debug/" + list.ActiveSessions[0]); r.status != http.StatusOK || !strings.Contains(r.body, `"phoneNumber":"+233201234567"`) {
		t.Errorf("%+v", r)
	}
	if strings.Contains(g.log.String(), "233201234567") {
		t.Error("the number is in the log")
	}
	var again ussdhttp.NaloReply
	g.json(http.MethodPost, "/api/ussd/nalo", `{"USERID":"NALOTest","MSISDN":"+233201234567","USERDATA":"1","MSGTYPE":false}`, &again)
	if !strings.HasPrefix(again.Msg, "What would") {
		t.Errorf("the number with its plus sign is another telephone: %+v", again)
	}
	g.json(http.MethodPost, "/api/ussd/nalo", `{"USERID":"NALOTest","MSISDN":"nobody","USERDATA":"*920#","MSGTYPE":true}`, &again)
	if again.MsgType || again.Msg != "Invalid input. Please try again." {
		t.Errorf("%+v", again)
	}
}

// slowOracle answers when it is let go.
type slowOracle struct{ asked, letGo chan struct{} }

func (o slowOracle) Ask(ctx context.Context, _ ussdquestion.Question) (string, error) {
	o.asked <- struct{}{}
	select {
	case <-o.letGo:
		return "At dusk.", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// A gateway that has no numbers repeats itself while the first delivery is still
// being answered: however long that takes, it is no new input.
func TestARepeatedDeliveryDuringASlowAnswerMovesNothing(t *testing.T) {
	t.Parallel()
	clock, oracle := ussdtest.NewClock(), slowOracle{make(chan struct{}, 2), make(chan struct{})}
	g := newGateway(t, options{change: []func(*ussd.Config){clock.Set, func(c *ussd.Config) {
		c.Oracle, c.OracleWait, c.Deadline = oracle, time.Minute, time.Minute
	}}})
	send := func(fresh, data string) reply {
		return g.do(http.MethodPost, "/api/ussd/arkesel", "application/json",
			`{"sessionID":"a1","newSession":`+fresh+`,"msisdn":"233544919953","userData":"`+data+`"}`)
	}
	send("true", "*928#")
	for _, input := range []string{"2", "2", "Ann", "00", "70382", "70382", "1", "5"} {
		clock.Jump(2 * time.Second)
		send("false", input)
	}
	clock.Jump(2 * time.Second)
	first, second := make(chan reply, 1), make(chan reply, 1)
	ask := func(into chan reply) { into <- send("false", "When?") }
	go ask(first)
	<-oracle.asked
	clock.Jump(4 * time.Second)
	go ask(second)
	close(oracle.letGo)
	a, b := <-first, <-second
	if a.body != b.body || !strings.Contains(a.body, `"message":"At dusk.`) {
		t.Errorf("the first delivery got %s, its repetition %s", a.body, b.body)
	}
	if len(oracle.asked) != 0 {
		t.Error("the oracle was asked twice")
	}
}

func TestDialectsRefuseWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	g := newGateway(t, options{})
	sorry := strings.TrimPrefix(invalid, "END ")
	for path, ends := range map[string]struct {
		end    string
		bodies []string
	}{
		"/api/ussd/hubtel": {`{"SessionId":"%s","Type":"Release","Message":"` + sorry + `","Label":"","ClientState":null,"DataType":"display","FieldType":"text"}`, []string{
			`{"SessionId":"x","Type":"Initiation","Sequence":"1"}`, `{"SessionId":"x","Type":"initiation"}`, `{"SessionId":"x","Type":7}`,
		}},
		"/api/ussd/arkesel": {`{"sessionID":"%s","userID":"","msisdn":"","message":"` + sorry + `","continueSession":false}`, []string{
			`{"sessionID":"x","newSession":"true"}`, `{"sessionID":"x","userData":1}`,
		}},
		"/api/ussd/nalo": {`{"USERID":"%s","MSISDN":"","MSG":"` + sorry + `","MSGTYPE":false}`, []string{`{"USERID":"x","MSGTYPE":"true"}`}},
		"/api/ussd/infobip/session/x/start": {`{"shouldClose":true,"ussdMenu":"` + sorry + `","responseExitCode":200,"responseMessage":""}`, []string{
			`{"text":5}`,
		}},
	} {
		check := func(media, body, id string) {
			t.Helper()
			want := strings.Replace(ends.end, "%s", id, 1)
			if r := g.do(http.MethodPost, path, media, body); r.status != 200 || strings.TrimSpace(r.body) != want {
				t.Errorf("%s %q: %+v, want %s", path, body, r, want)
			}
		}
		for _, body := range ends.bodies {
			check("application/json", body, "x")
		}
		for _, body := range []string{"", "{", "[]", "7", strings.Repeat(" ", 20<<10), "{\"\xff\":1}"} {
			check("application/json", body, "")
		}
		check("application/x-www-form-urlencoded", "sessionID=x&newSession=true", "")
		check("text/plain", "hello", "")
	}
	var out ussdhttp.ArkeselReply
	g.json(http.MethodPost, "/api/ussd/arkesel", `{"sessionID":"a1","newSession":true,"msisdn":"oops"}`, &out)
	if out.ContinueSession || "END "+out.Message != invalid {
		t.Errorf("%+v", out)
	}
}
