package openaiface_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

// A turn that is refused in its course is an error and not something that the
// assistant said: with a status of its own, as long as nothing of an answer was sent.
func TestWhatIsRefusedIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		body object
	}{
		"chat":             {chatPath, object{"messages": []any{says("user", "hi")}}},
		"chat stream":      {chatPath, object{"messages": []any{says("user", "hi")}, "stream": true}},
		"responses":        {"/v1/responses", object{"input": "hi"}},
		"responses stream": {"/v1/responses", object{"input": "hi", "stream": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			till := &oracletest.Till{}
			alice := oracletest.Start(t, scripted.Sequence(scripted.Text("Hello.")), till.With).As(t, identitytest.Alice)
			c.body["model"] = "oracle"
			r := alice.Do("POST", c.path, c.body)
			var got struct {
				Error struct{ Message, Type, Code string }
			}
			must(t, json.Unmarshal(r.Body, &got))
			if r.Status != http.StatusPaymentRequired ||
				got.Error.Code != "insufficient_quota" || got.Error.Type != "insufficient_quota" ||
				got.Error.Message != oracletest.SpentText || r.Header.Get("X-Should-Retry") != "false" ||
				!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
			}
			till.Left.Store(1)
			if r = alice.Do("POST", c.path, c.body); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "Hello.") {
				t.Errorf("the same request, when there is money again: %d %s", r.Status, r.Body)
			}
		})
	}
}

// begun opens a stream and returns what follows its first words, which the model says before
// it goes on.
func begun(t *testing.T, c *oracletest.Client, path string, goOn chan struct{}) string {
	t.Helper()
	body := object{"model": "oracle", "stream": true, "input": "hi", "messages": []any{says("user", "hi")}}
	resp, err := c.Open(t.Context(), "POST", path, body)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	for line := ""; !strings.Contains(line, "Let me see."); {
		line, err = lines.ReadString('\n')
		must(t, err)
	}
	close(goOn)
	rest, err := io.ReadAll(lines)
	must(t, err)
	return string(rest)
}

// What is refused behind the first words ends a stream with an error in the wire's own shape.
func TestWhatIsRefusedInTheMiddle(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		chatPath:        `"code":"insufficient_quota"`,
		"/v1/responses": `"error":{"code":"insufficient_quota",`,
	} {
		till, goOn := &oracletest.Till{}, make(chan struct{})
		till.Left.Store(1)
		looks := scripted.Reply{Chunks: []plugin.Chunk{{Text: "Let me see."}}, Wait: goOn, Calls: []plugin.ModelToolCall{
			{ID: "c1", Name: "load_capability", Args: json.RawMessage(`{"name":"none"}`)},
		}}
		rest := begun(t, oracletest.Start(t, scripted.Sequence(looks), till.With).As(t, identitytest.Alice), path, goOn)
		if !strings.Contains(rest, want) || strings.Contains(rest, "[DONE]") ||
			strings.Contains(rest, "response.completed") ||
			strings.Count(rest, oracletest.SpentText) != 1 {
			t.Errorf("%s: %s", path, rest)
		}
	}
}

// A model that fails behind its first words ends a stream with an error.
func TestAFailureInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, path := range []string{chatPath, "/v1/responses"} {
		goOn := make(chan struct{})
		fails := scripted.Reply{Chunks: []plugin.Chunk{{Text: "Let me see."}}, Wait: goOn, Err: io.ErrUnexpectedEOF}
		rest := begun(t, oracletest.Start(t, scripted.Sequence(fails)).As(t, identitytest.Alice), path, goOn)
		if !strings.Contains(rest, "server_error") || strings.Contains(rest, "[DONE]") ||
			strings.Contains(rest, "response.completed") {
			t.Errorf("%s: %s", path, rest)
		}
	}
}
