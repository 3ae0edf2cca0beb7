package ussdhttp_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wire is how a dialect is spoken: a good request, of which random ones are made, and
// what a valid answer is, to go on or to end.
type wire struct {
	method, path, media string
	good                []string
	valid               func(body string) bool
}

func plainAnswer(body string) bool {
	return strings.HasPrefix(body, "CON ") || strings.HasPrefix(body, "END ")
}

// jsonAnswer has a member that says whether the session goes on, and one to be shown.
func jsonAnswer(on string, values []string, text string) func(string) bool {
	return func(body string) bool {
		var out map[string]json.RawMessage
		var shown string
		if json.Unmarshal([]byte(body), &out) != nil || json.Unmarshal(out[text], &shown) != nil || shown == "" {
			return false
		}
		return slices.Contains(values, string(out[on]))
	}
}

func wires() map[string]wire {
	yesNo := []string{"true", "false"}
	const form = "application/x-www-form-urlencoded"
	return map[string]wire{
		"ussd": {http.MethodPost, "/api/ussd", "application/json", []string{
			`{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":""}`,
			`{"sessionId":"s1","serviceCode":"*1#","phoneNumber":"+260971230001","text":"2*2*Ann*00*70382*70382**"}`,
		}, plainAnswer},
		"africastalking": {http.MethodPost, "/api/ussd/africastalking", form, []string{
			"sessionId=a&serviceCode=%2A384%23&phoneNumber=%2B254700000001&networkCode=63902&text=", "sessionId=a&serviceCode=%2A384%23&phoneNumber=%2B254700000001&text=1%2A2",
		}, plainAnswer},
		"africastalking events": {http.MethodPost, "/api/ussd/africastalking/events", form, []string{"sessionId=a&phoneNumber=%2B254700000001&status=Incomplete"}, nil},
		"hubtel": {http.MethodPost, "/api/ussd/hubtel", "application/json", []string{
			`{"Type":"Initiation","Mobile":"260971230001","SessionId":"h1","ServiceCode":"714","Message":"*714#","Sequence":1,"ClientState":"c"}`,
			`{"Type":"Response","Mobile":"260971230001","SessionId":"h1","ServiceCode":"714","Message":"1","Sequence":2}`,
		}, jsonAnswer("Type", []string{`"Response"`, `"Release"`}, "Message")},
		"arkesel": {http.MethodPost, "/api/ussd/arkesel", "application/json", []string{
			`{"sessionID":"a1","userID":"u","newSession":true,"msisdn":"233544919953","userData":"*928#","network":"MTN"}`,
			`{"sessionID":"a1","userID":"u","newSession":false,"msisdn":"233544919953","userData":"1","network":"MTN"}`,
		}, jsonAnswer("continueSession", yesNo, "message")},
		"nalo": {http.MethodPost, "/api/ussd/nalo", "application/json", []string{
			`{"USERID":"N","MSISDN":"233544919953","USERDATA":"*920#","MSGTYPE":true,"NETWORK":"MTN","SESSIONID":"n1"}`,
			`{"USERID":"N","MSISDN":"233544919953","USERDATA":"1","MSGTYPE":false,"NETWORK":"MTN","SESSIONID":"n1"}`,
		}, jsonAnswer("MSGTYPE", yesNo, "MSG")},
		"infobip": {http.MethodPost, "/api/ussd/infobip/session/i1/start", "application/json", []string{
			`{"msisdn":"260971230001","imsi":"1","shortCode":"*120*11#","optional":"","ussdNodeId":"","text":"","networkName":"x","countryName":"y"}`,
		}, jsonAnswer("shouldClose", yesNo, "ussdMenu")},
		"advanta":   {http.MethodGet, "/api/ussd/advanta", "", []string{"SESSIONID=1&MSISDN=254726770792&USSDCODE=*415%23&INPUT=1*2"}, plainAnswer},
		"bonga":     {http.MethodGet, "/api/ussd/bonga", "", []string{"session_id=1&mobile_number=254726770792&service_code=*415%23&message=1*2"}, plainAnswer},
		"crossgate": {http.MethodGet, "/api/ussd/crossgate", "", []string{"network_code=2541&msisdn=254726770792&service_code=123&session_id=70381&ussd_string=1*2"}, plainAnswer},
		"beem": {http.MethodPost, "/api/ussd/beem", "application/json", []string{
			`{"command":"initiate","msisdn":"255712345678","session_id":"4574","operator":"vodacom","payload":{"request_id":0,"response":0}}`,
			`{"command":"continue","msisdn":"255712345678","session_id":"4574","operator":"vodacom","payload":{"request_id":1,"response":"2"}}`,
		}, func(body string) bool {
			var out struct{ Payload struct{ Request string } }
			return jsonAnswer("command", []string{`"continue"`, `"terminate"`}, "command")(body) &&
				json.Unmarshal([]byte(body), &out) == nil && out.Payload.Request != ""
		}},
		"hollatags": {http.MethodGet, "/api/ussd/hollatags", "", []string{
			"session_msisdn=2347000000000&session_operation=begin&session_msg=&session_id=5456&session_from=*7006%23&session_type=1",
		}, jsonAnswer("session_operation", []string{`"continue"`, `"end"`}, "session_msg")},
		"own": {http.MethodPost, "/api/ussd/own", "application/json", []string{
			`{"id":7,"user":{"number":"+255700000001"},"code":"*149#","said":"1*2","trace":[1]}`,
		}, jsonAnswer("go", yesNo, "say")},
		"ownxml": {http.MethodPost, "/api/ussd/ownxml", form, []string{"id=1&number=255700000001&said=2"}, func(body string) bool {
			return strings.HasPrefix(body, `<r more="`) && strings.HasSuffix(body, "</r>")
		}},
	}
}

// perGateway is how many bodies one gateway gets: sessions of random names pile up in
// its database.
const perGateway = 100_000

// TestRandomBodiesOfEveryDialect: a valid continue or end, with 200, whatever was
// sent. CASTALIA_BODIES says how many each dialect gets; a part can be sent again by its
// name, which is the seed.
func TestRandomBodiesOfEveryDialect(t *testing.T) {
	t.Parallel()
	parts, bodies := 1, 3000
	if text := os.Getenv("CASTALIA_BODIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < perGateway {
			t.Fatalf("CASTALIA_BODIES=%s: want a number from %d on", text, perGateway)
		}
		parts, bodies = n/perGateway, perGateway
	}
	for name, w := range wires() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for part := range parts {
				t.Run(fmt.Sprint(part), func(t *testing.T) {
					g := newGateway(t, options{files: ownDialects(t), level: slog.LevelError + 1})
					r := rand.New(rand.NewPCG(22, uint64(part)))
					for range bodies {
						w.send(t, g, changed(r, w.good[r.IntN(len(w.good))]))
					}
				})
			}
		})
	}
}

func (w wire) send(t *testing.T, g *gateway, body string) {
	t.Helper()
	path, sent := w.path, body
	if w.method == http.MethodGet {
		path, sent = path+"?"+url.PathEscape(body), ""
	}
	reply := g.do(w.method, path, w.media, sent)
	if reply.status != http.StatusOK || w.valid != nil && !w.valid(reply.body) {
		t.Fatalf("%q: %d %q", body, reply.status, reply.body)
	}
}
