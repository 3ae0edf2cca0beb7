package teamchat

import (
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	body := []byte(`{"type":"event_callback"}`)
	header := func(at time.Time, secret string, body []byte) http.Header {
		stamp := strconv.FormatInt(at.Unix(), 10)
		return http.Header{"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + hex.EncodeToString(sign(secret, stamp, body))}}
	}
	swap := header(now, "s", body)
	swap.Set("X-Slack-Request-Timestamp", strconv.FormatInt(now.Unix()+1, 10))
	for name, c := range map[string]struct {
		secret string
		header http.Header
		good   bool
	}{
		"good":            {"s", header(now, "s", body), true},
		"a little old":    {"s", header(now.Add(-4*time.Minute), "s", body), true},
		"replayed":        {"s", header(now.Add(-6*time.Minute), "s", body), false},
		"from the future": {"s", header(now.Add(6*time.Minute), "s", body), false},
		"another secret":  {"s", header(now, "t", body), false},
		"another body":    {"s", header(now, "s", []byte("{}")), false},
		"another time":    {"s", swap, false},
		"nothing":         {"s", http.Header{}, false},
		"no secret":       {"", header(now, "", body), false},
		"not hex":         {"s", http.Header{"X-Slack-Request-Timestamp": {"1800000000"}, "X-Slack-Signature": {"v0=zz"}}, false},
		"cut":             {"s", http.Header{"X-Slack-Request-Timestamp": {"1800000000"}, "X-Slack-Signature": {"v0="}}, false},
	} {
		if err := verify(c.secret, c.header, body, now); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The example of the chat's own documentation.
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	body := "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA" +
		"&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
		"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	h := http.Header{
		"X-Slack-Request-Timestamp": {"1531420618"},
		"X-Slack-Signature":         {"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"},
	}
	if err := verify("8f742231b10e8888abcd99yyyzzz85a5", h, []byte(body), time.Unix(1531420618, 0)); err != nil {
		t.Error(err)
	}
	if _, j, err := parseCommand([]byte(body), time.Unix(1531420618, 0)); err != nil || j.User != "U2CERLKJA" ||
		j.Name != "roadrunner" || j.Text != "" {
		t.Errorf("%+v %v", j, err)
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	callback := func(event string) string {
		return `{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":` + event + `}`
	}
	for name, c := range map[string]struct {
		body string
		want event
		bad  bool
	}{
		"challenge":    {`{"type":"url_verification","challenge":"abc"}`, event{Challenge: "abc"}, false},
		"no challenge": {`{"type":"url_verification"}`, event{}, true},
		"mention": {
			callback(`{"type":"app_mention","user":"U1","channel":"C1","ts":"1.2","text":"<@UBOT> what &lt;is&gt; <https://a.b|this>?"}`),
			event{ID: "Ev1", Job: &job{Team: "T1", User: "U1", Channel: "C1", TS: "1.2", Thread: "1.2", Text: "what <is> https://a.b?"}},
			false,
		},
		"in a thread": {
			callback(`{"type":"app_mention","user":"U1","channel":"C1","ts":"3.4","thread_ts":"1.2","text":"and?"}`),
			event{ID: "Ev1", Job: &job{Team: "T1", User: "U1", Channel: "C1", TS: "3.4", Thread: "1.2", Text: "and?"}},
			false,
		},
		"direct": {
			callback(`{"type":"message","channel_type":"im","user":"U1","channel":"D1","ts":"1.2","text":"hi"}`),
			event{ID: "Ev1", Job: &job{Team: "T1", User: "U1", Channel: "D1", TS: "1.2", Text: "hi"}},
			false,
		},
		"in a channel":   {callback(`{"type":"message","channel_type":"channel","user":"U1","channel":"C1","ts":"1.2","text":"hi"}`), event{ID: "Ev1"}, false},
		"by a bot":       {callback(`{"type":"message","channel_type":"im","bot_id":"B1","user":"U1","channel":"D1","ts":"1.2"}`), event{ID: "Ev1"}, false},
		"changed":        {callback(`{"type":"message","subtype":"message_changed","channel_type":"im","channel":"D1","ts":"1.2"}`), event{ID: "Ev1"}, false},
		"something else": {`{"type":"app_rate_limited"}`, event{}, false},
		"bad user":       {callback(`{"type":"app_mention","user":"U1/x","channel":"C1","ts":"1.2"}`), event{}, true},
		"bad time":       {callback(`{"type":"app_mention","user":"U1","channel":"C1","ts":"now"}`), event{}, true},
		"bad thread":     {callback(`{"type":"app_mention","user":"U1","channel":"C1","ts":"1.2","thread_ts":"../x"}`), event{}, true},
		"bad team":       {`{"type":"event_callback","team_id":"t/1","event_id":"Ev1","event":{}}`, event{}, true},
		"no event id":    {`{"type":"event_callback","team_id":"T1","event":{}}`, event{}, true},
		"not JSON":       {`type=event_callback`, event{}, true},
		"empty":          {``, event{}, true},
	} {
		got, err := parseEvent([]byte(c.body))
		if d := cmp.Diff(c.want, got); d != "" || (err != nil) != c.bad {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	const good = "team_id=T1&user_id=U1&channel_id=C1&trigger_id=1.2&text=hello+there"
	id, j, err := parseCommand([]byte(good), time.Unix(7, 0))
	if err != nil || j.Text != "hello there" || !j.Command || !strings.HasPrefix(id, "cmd-") {
		t.Fatal(id, j, err)
	}
	if again, _, _ := parseCommand([]byte(good), time.Unix(8, 0)); again != id {
		t.Error("a repeat has another id")
	}
	for _, body := range []string{"", "%zz", "team_id=T1", "team_id=t&user_id=U1&channel_id=C1&trigger_id=1", "team_id=T1&user_id=U1&channel_id=C1", good + "&a;b=%"} {
		if _, _, err := parseCommand([]byte(body), time.Unix(7, 0)); err == nil {
			t.Errorf("%q was taken", body)
		}
	}
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"**bold** and _thin_":                   "*bold* and _thin_",
		"# Title\ntext":                         "*Title*\ntext",
		"- one\n* two":                          "• one\n• two",
		"[site](https://a.b/c?d=1)":             "<https://a.b/c?d=1|site>",
		"<!channel> & <@U1>":                    "&lt;!channel&gt; &amp; &lt;@U1&gt;",
		"```\n**code** <x>\n```":                "```\n**code** &lt;x&gt;\n```",
		"[x](https://a.b|<!here>)":              "[x](https://a.b|&lt;!here&gt;)",
		"[bad](javascript:alert(1)) **[x](y)**": "[bad](javascript:alert(1)) *[x](y)*",
	} {
		if got := markup(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	if got := pieces("  \n "); got != nil {
		t.Errorf("%q", got)
	}
	long := strings.Repeat(strings.Repeat("naïve words ", 50)+"\n\n", 200)
	got := pieces(long)
	if len(got) != maxPieces || !strings.HasSuffix(got[maxPieces-1], "…") {
		t.Errorf("%d pieces", len(got))
	}
	for _, p := range got {
		if len(p) > pieceBytes || !utf8.ValidString(p) || p == "" {
			t.Errorf("a piece of %d bytes", len(p))
		}
	}
	two := pieces(strings.Repeat("x", pieceBytes) + "y")
	if len(two) != 2 || two[1] != "y" {
		t.Errorf("%d pieces", len(two))
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(`{"type":"url_verification","challenge":"abc"}`))
	f.Add([]byte(`{"type":"event_callback","team_id":"T1","event_id":"Ev1","event":{"type":"app_mention","user":"U1","channel":"C1","ts":"1.2","text":"<@U> hi"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := parseEvent(body)
		if err == nil && e.Job != nil && (!idForm.MatchString(e.Job.User) || !eventForm.MatchString(e.ID) ||
			!timeForm.MatchString(e.Job.TS) || !utf8.ValidString(e.Job.Text)) {
			t.Errorf("%+v", e.Job)
		}
	})
}

func FuzzParseCommand(f *testing.F) {
	f.Add([]byte("team_id=T1&user_id=U1&channel_id=C1&trigger_id=1.2&text=hello"))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, j, err := parseCommand(body, time.Unix(7, 0))
		if err == nil && (!idForm.MatchString(j.Team) || !eventForm.MatchString(id) || len(j.Text) > 2*maxText ||
			!utf8.ValidString(j.Text)) {
			t.Errorf("%s %+v", id, j)
		}
	})
}

func FuzzMarkup(f *testing.F) {
	f.Add("**a** [b](https://c) <!here>")
	f.Fuzz(func(t *testing.T, text string) {
		out := markup(text)
		if i := strings.Index(out, "<"); i >= 0 && !strings.HasPrefix(out[i:], "<http") {
			t.Errorf("%q became %q", text, out)
		}
		for _, p := range pieces(out) {
			if len(p) > pieceBytes {
				t.Errorf("a piece of %d bytes", len(p))
			}
		}
	})
}
