package mcpclient

import (
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A question is its own call's, whichever call ends first.
func TestAQuestionIsOfTheCallThatWasAlone(t *testing.T) {
	t.Parallel()
	l := &line{engine: New(nil, nil, Config{})}
	_, endFirst := l.begin(t.Context(), "first", time.Hour, nil)
	asks := &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: "Which room?"}}
	if _, err := l.elicit(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	_, endSecond := l.begin(t.Context(), "second", time.Hour, nil)
	if open := l.takeOpen("second"); open != nil {
		t.Errorf("the second call is asked: %q", open.Message)
	}
	endSecond()
	if open := l.takeOpen("first"); open == nil || open.Message != "Which room?" {
		t.Errorf("the first call is asked: %v", open)
	}
	if _, err := l.elicit(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	endFirst()
	_, endThird := l.begin(t.Context(), "third", time.Hour, nil)
	defer endThird()
	if _, err := l.elicit(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	if l.takeOpen("third") == nil {
		t.Error("what nobody took keeps others from asking")
	}
	// What a connection still asks that was left is no call's of the next one.
	l.session = &mcp.ClientSession{}
	if _, err := l.elicit(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	if l.takeOpen("third") != nil {
		t.Error("a question of another connection was put")
	}
}
