package system

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// versionRoutes asks turns anew, goes back and says what it thinks of answers,
// each on another node than the one before: none goes by what it remembers.
func versionRoutes(t *testing.T, w *World, model *speaker) {
	alice, bob := newChatter(t, w, identitytest.NewActor("versions")), newChatter(t, w, identitytest.NewActor("other versions"))
	word := func(n int) string { return fmt.Sprintf("word%d of %s", n, alice.session) }
	at := func(message, what string) string {
		return "/sessions/" + alice.session + "/messages/" + message + "/" + what
	}
	expect := func(what string, n *Node, words ...string) {
		t.Helper()
		var want []string
		for _, text := range words {
			want = append(want, text, answerTo(text))
		}
		if d := cmp.Diff(want, alice.texts(t, n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	for n := range 3 {
		alice.say(t, w.Node(0), word(n)).rest(t)
	}
	first := alice.transcript(t, w.Node(1)).Messages
	events := make(chan seen, 100)
	go watch(alice.open(t, w.Node(2)), events)
	reply := alice.do(t, w.Node(1), http.MethodPost, at("last", "versions"), "")
	if reply.Status != http.StatusOK || !strings.Contains(string(reply.Body), answerTo(word(2))) {
		t.Errorf("the last again: %d %s", reply.Status, reply.Body)
	}
	for e := range events { // the other page is told
		if e.name == "message_cache_invalidation" && e.arg["reason"] == "version" {
			break
		}
	}
	expect("the last again", w.Node(2), word(0), word(1), word(2))

	once := []string{"X-Request-Id", "once-edit-" + alice.session}
	body := fmt.Sprintf(`{"message":%q,"stream":true}`, word(7))
	var runs []string
	for n := range 2 { // its first answer got lost
		s := alice.stream(t, w.Node(n), http.MethodPost, at(first[2].ID, "versions"), body, once...)
		if got := textOf(t, s.rest(t)); got != answerTo(word(7)) {
			t.Errorf("an edit: %q", got)
		}
		runs = append(runs, s.Header.Get("X-Run-Id"))
	}
	if runs[0] != runs[1] {
		t.Errorf("one edit began two runs: %v", runs)
	}
	expect("an edit", w.Node(2), word(0), word(7))
	alice.say(t, w.Node(0), word(8)).rest(t)
	sent := model.last(word(8))
	if !strings.Contains(sent, word(7)) || strings.Contains(sent, word(1)) || strings.Contains(sent, word(2)) {
		t.Errorf("the model was sent another branch: %s", sent)
	}
	if reply := alice.do(t, w.Node(1), http.MethodPost, at(first[3].ID, "choose"), ""); reply.Status != http.StatusOK {
		t.Errorf("choose: %d %s", reply.Status, reply.Body)
	}
	expect("the first chosen again", w.Node(2), word(0), word(1), word(2))
	alice.say(t, w.Node(0), word(9)).rest(t)
	if sent = model.last(word(9)); !strings.Contains(sent, word(1)) || strings.Contains(sent, word(7)) ||
		strings.Contains(sent, word(8)) {
		t.Errorf("the model was sent another branch: %s", sent)
	}
	var list struct{ Versions []map[string]any }
	alice.do(t, w.Node(2), http.MethodGet, at(first[2].ID, "versions"), "").JSON(t, &list)
	if len(list.Versions) != 2 {
		t.Fatalf("versions: %+v", list)
	}
	has(t, "a version", list.Versions[1], "messageId", "kind", "chosen", "content", "createdAt")

	// A choice waits for its run, or stops it.
	b := alice.begin(t, w.Node(0), model)
	edited := fmt.Sprint(list.Versions[1]["messageId"])
	refused(t, "a choice meanwhile", alice.do(t, w.Node(1), http.MethodPost, at(edited, "choose"), ""), http.StatusConflict, "A run is going on")
	refused(t, "a polite version", alice.do(t, w.Node(1), http.MethodPost, at("last", "versions"), `{"multitask":"reject"}`), http.StatusConflict, "")
	b.letGo()
	b.stream.rest(t)

	feedback := at(first[1].ID, "feedback")
	if reply := alice.do(t, w.Node(0), http.MethodPut, feedback, `{"rating":"down","text":"not so"}`); reply.Status != http.StatusOK {
		t.Errorf("feedback: %d %s", reply.Status, reply.Body)
	}
	if reply := alice.do(t, w.Node(1), http.MethodGet, "/messages/"+alice.session,
		""); !strings.Contains(string(reply.Body), `"feedback":{"rating":"down","text":"not so"}`) {
		t.Errorf("feedback is not shown: %s", reply.Body)
	}
	for _, c := range [][2]string{
		{http.MethodPost, at(first[2].ID, "versions")},
		{http.MethodGet, at(first[2].ID, "versions")},
		{http.MethodPost, at(first[2].ID, "choose")},
		{http.MethodDelete, feedback},
	} {
		refused(t, c[1], bob.do(t, w.Node(2), c[0], c[1], ""), http.StatusNotFound, "Session not found")
	}
	if reply := alice.do(t, w.Node(2), http.MethodDelete, feedback, ""); reply.Status != http.StatusNoContent {
		t.Errorf("feedback taken back: %d %s", reply.Status, reply.Body)
	}
}

// last is the newest request of a turn that ends with a message, as the model was sent it.
func (s *speaker) last(message string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range slices.Backward(s.requests) {
		if json.Valid([]byte(request)) && strings.Contains(request, message) && !strings.Contains(request, "Give this conversation a title") {
			return request
		}
	}
	return ""
}
