package turn_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// A database keeps no zero byte and no broken letter. A model that says one is
// answered for all the same, and its session goes on.
func TestWhatNoDatabaseKeepsIsLeftOutOfAnswers(t *testing.T) {
	t.Parallel()
	zero := scripted.Reply{Chunks: []plugin.Chunk{{Reasoning: "hm\x00"}, {Text: "one\x00 "}, {Text: "two\xff"}}}
	n := oracletest.Start(t, scripted.Sequence(zero, scripted.Text("three")))
	alice := n.As(t, identitytest.Alice)
	session := alice.Session()
	frames := alice.Say(session, "count")
	if got := turn.TextOf(frames); got != "one two\uFFFD" {
		t.Errorf("readers saw %q", got)
	}
	if got := turn.TextOf(alice.Say(session, "on")); got != "three" {
		t.Errorf("then readers saw %q", got)
	}
	var list struct {
		Messages []struct{ Content string }
	}
	alice.Do("GET", "/messages/"+session, nil).JSON(t, &list)
	if len(list.Messages) != 4 || list.Messages[1].Content != "one two\uFFFD" {
		t.Errorf("the transcript has %+v", list.Messages)
	}
	if last := frames[len(frames)-1]; last.Event != oracle.FrameDone {
		t.Errorf("the last frame is %s", last.Event)
	}
}

// The same holds for what a plugin says in the model's stead.
func TestWhatNoDatabaseKeepsIsLeftOutOfRefusals(t *testing.T) {
	t.Parallel()
	n := oracletest.Start(t, nil, with(lab{name: "gate", visibility: plugin.Silent, refuse: "No\x00 more."}))
	alice := n.As(t, identitytest.Alice)
	var reply struct{ Message struct{ Content string } }
	alice.Do("POST", "/messages/"+alice.Session(), map[string]any{"message": "hi"}).JSON(t, &reply)
	if reply.Message.Content != "No more." {
		t.Errorf("reply: %+v", reply)
	}
}
