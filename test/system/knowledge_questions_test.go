package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgeclient"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
	"github.com/castalia-org/castalia/test/system"
)

// What no document answers goes to people, and their answer comes back to where it
// was asked, on any node; one that is kept wins from then on.
func TestKnowledgeAsksPeople(t *testing.T) {
	t.Parallel()
	system.Each(t, func(t *testing.T, w *system.World) {
		owner, asker, stranger := somebody(t), somebody(t), somebody(t)
		made, err := documents(t, w.Node(0), owner).Create(t.Context(),
			knowledgehttp.CollectionBody{Name: "Water", Folder: "/water", Readers: "everybody"})
		if err != nil {
			t.Fatal(err)
		}
		if err := documents(t, w.Node(1), owner).Publish(t.Context(), made.ID, "everybody"); err != nil {
			t.Fatal(err)
		}
		if _, err := files(t, w.Node(0), owner).Put(t.Context(), "/water/minutes.md", "text/markdown",
			strings.NewReader(pumpMinutes), int64(len(pumpMinutes)), cid.CID{}); err != nil {
			t.Fatal(err)
		}
		answered(t, documents(t, w.Node(0), asker), "who keeps the key of the pump house?", "Peter Wafula")
		const question = "Which colour will the new tank be painted?"
		if a, err := documents(t, w.Node(1), asker).Ask(t.Context(), question); err != nil || a.Answered {
			t.Fatalf("%+v, %v", a, err)
		}
		talk, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(1).URL, Signer: asker})
		if err != nil {
			t.Fatal(err)
		}
		session, err := talk.CreateSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sent, err := documents(t, w.Node(1), asker).AskPeople(t.Context(),
			knowledgehttp.QuestionBody{Question: question, SessionID: session})
		if err != nil || sent.State != "waiting" || sent.Collection != made.ID {
			t.Fatalf("%+v, %v", sent, err)
		}
		waiting, err := documents(t, w.Node(2), owner).Questions(t.Context(), "waiting")
		if err != nil || len(waiting) != 1 || waiting[0].Question != question || waiting[0].From != "" {
			t.Fatalf("the owner sees %+v, %v", waiting, err)
		}
		if said := fmt.Sprintf("%+v", waiting); strings.Contains(said, string(asker.DID())) {
			t.Errorf("the owner sees who asked: %s", said)
		}
		if none, err := documents(t, w.Node(2), stranger).Questions(t.Context(), "waiting"); err != nil || len(none) != 0 {
			t.Errorf("a stranger sees %+v, %v", none, err)
		}
		_, err = documents(t, w.Node(0), stranger).AnswerQuestion(t.Context(), sent.ID,
			knowledgehttp.ReplyBody{Answer: "Red."})
		if refused, ok := errors.AsType[*knowledgeclient.StatusError](err); !ok || refused.Status != http.StatusNotFound {
			t.Errorf("a stranger answers: %v", err)
		}
		const answer = "It stays green, like the school."
		if _, err := documents(t, w.Node(0), owner).AnswerQuestion(t.Context(), sent.ID,
			knowledgehttp.ReplyBody{Answer: answer, Keep: true}); err != nil {
			t.Fatal(err)
		}
		system.Eventually(t, "the answer is in the conversation", func() error {
			said, err := talk.History(t.Context(), session)
			if err == nil && (len(said) != 1 || !strings.Contains(said[0].Content, answer) ||
				!strings.Contains(said[0].Content, question)) {
				err = fmt.Errorf("%+v", said)
			}
			return err
		})
		for i := range w.Nodes {
			a := answered(t, documents(t, w.Node(i), stranger), "which colour will the new tank be painted", answer)
			if !a.Hits[0].Pair {
				t.Errorf("node %d: %+v", i, a.Hits[0])
			}
		}
		mine, err := documents(t, w.Node(2), asker).MyQuestions(t.Context())
		if err != nil || len(mine) != 1 || mine[0].Answer != answer || len(mine[0].Events) != 0 {
			t.Errorf("the asker's own: %+v, %v", mine, err)
		}
		t.Run("telephone", func(t *testing.T) { asksPeopleByTelephone(t, w) })
		t.Run("linked telephone", func(t *testing.T) { asksPeopleAsThePerson(t, w) })
	}, "PRINCIPAL_RATE_LIMIT_PER_MINUTE=0")
}

func asksPeopleByTelephone(t *testing.T, w *system.World) {
	t.Helper()
	c := &caller{t: t, line: &telephone{world: w, retries: 5}, phone: "+254700555111"}
	c.dial("people1")
	last := c.expect("2", "Do you have an account", "2", "full name", "Ann Juma", "e-mail", "00", "PIN of 5", "70382", "again", "70382", "Your account ID is")
	if !regexp.MustCompile(`C[0-9A-F]{8}`).MatchString(last) {
		t.Fatalf("%q", last)
	}
	system.Eventually(t, "telephones are offered documents", func() error {
		got, err := c.line.Send(t.Context(), "offered", "*2233#", "+254700555112", "")
		if err == nil && !strings.Contains(got, "3. Ask our documents") {
			err = fmt.Errorf("%q", got)
		}
		return err
	})
	c.expect("1", "My account", "0", "3. Ask our documents", "3", "What do you want", "is there a goat doctor in Kilifi", "2. Our people", "2", "Send your question", "2", "with our people")
	var list knowledgehttp.QuestionList
	system.Eventually(t, "operators see the question", func() error {
		reply, err := w.Node(1).Try(t.Context(), system.Call{Method: http.MethodGet, Path: "/operator/knowledge/questions"})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(reply.Body, &list); err != nil || len(list.Questions) != 1 {
			return fmt.Errorf("%d %s", reply.Status, reply.Body)
		}
		return nil
	})
	q := list.Questions[0]
	if q.Question != "is there a goat doctor in Kilifi" || q.Channel != "telephone" || q.From != "Ann Juma" || strings.Contains(fmt.Sprint(q), c.phone[4:]) {
		t.Errorf("operators see %+v", q)
	}
	reply, err := w.Node(2).Try(t.Context(), system.Call{
		Method: http.MethodPost, Path: "/operator/knowledge/questions/" + q.ID + "/answer", Body: `{"answer":"Yes: Dr Mwangi, on Tuesdays."}`,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil || reply.Status != http.StatusOK {
		t.Fatalf("%d %s, %v", reply.Status, reply.Body, err)
	}
	n := 0
	system.Eventually(t, "the answer waits for the caller", func() error {
		n++
		again := &caller{t: t, line: c.line, phone: c.phone}
		again.dial(fmt.Sprintf("people-again%d", n))
		again.expect("2", "Do you have an account", "1", "Enter your PIN")
		got := again.expect("70382", "Welcome Ann")
		if !strings.Contains(got, "2. Read your answer") {
			return fmt.Errorf("%q", got)
		}
		again.expect("2", "Yes: Dr Mwangi, on Tuesdays.")
		return nil
	})
}

// Whoever is linked with a DID asks people as that person: of what that person alone may
// read, and the question and its answer are the person's on the web too. Once the link
// has ended the telephone hears nothing of it.
func asksPeopleAsThePerson(t *testing.T, w *system.World) {
	t.Helper()
	person := somebody(t)
	made, err := documents(t, w.Node(0), person).Create(t.Context(),
		knowledgehttp.CollectionBody{Name: "Herd", Folder: "/herd", Readers: "delegates"})
	if err != nil {
		t.Fatal(err)
	}
	web, err := oracleclient.New(t.Context(), oracleclient.Config{Server: w.Node(0).URL, Signer: person})
	if err != nil {
		t.Fatal(err)
	}
	const note = "# The herd\nThe zebu bull Simba grazes at Mwatate."
	if _, err := files(t, w.Node(0), person).Put(t.Context(), "/herd/bull.md", "text/markdown", strings.NewReader(note),
		int64(len(note)), cid.CID{}); err != nil {
		t.Fatal(err)
	}
	answered(t, documents(t, w.Node(1), person), "where does the zebu bull Simba graze?", "Mwatate")
	c := &caller{t: t, line: &telephone{world: w, retries: 5}, phone: "+254700555113"}
	c.dial("herd1")
	_, account, _ := strings.Cut(c.expect("2", "", "2", "", "Ben", "", "00", "", "70382", "", "70382", "account ID is"), "account ID is ")
	account = account[:9]
	var told struct{ Code string }
	if err := web.Do(t.Context(), http.MethodPost, "/api/telephones", map[string]string{"account": account}, &told); err != nil {
		t.Fatal(err)
	}
	c.dial("herd2")
	c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "1", "Link web", "1", "Enter your PIN",
		"70382", "8 digits", told.Code, "did:key:", "1", "is linked")
	ask := func(session, question string) {
		t.Helper()
		c.dial(session)
		c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome", "1", "My account", "0", "3. Ask our documents", "3",
			"What do you want", question, "2. Our people", "2", "Send your question", "1", "with our people")
	}
	ask("herd3", "when should a calf be dehorned")
	ask("herd4", "which salt lick is cheapest in town")
	mine, err := documents(t, w.Node(2), person).MyQuestions(t.Context())
	if err != nil || len(mine) != 2 || mine[1].Question != "when should a calf be dehorned" ||
		mine[1].Channel != "telephone" || mine[1].Collection != made.ID {
		t.Fatalf("the person's own: %+v, %v", mine, err)
	}
	give := func(id, answer string) {
		t.Helper()
		if _, err := documents(t, w.Node(0), person).AnswerQuestion(t.Context(), id,
			knowledgehttp.ReplyBody{Answer: answer}); err != nil {
			t.Fatal(err)
		}
	}
	give(mine[1].ID, "Before three months.")
	n := 0
	system.Eventually(t, "the answer waits for the caller", func() error {
		n++
		c.dial(fmt.Sprintf("herd-again%d", n))
		if got := c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome Ben"); !strings.Contains(got, "2. Read your answer") {
			return fmt.Errorf("%q", got)
		}
		c.expect("2", "Before three months.")
		return nil
	})
	if err := web.Do(t.Context(), http.MethodDelete, "/api/telephones/"+account, nil, nil); err != nil {
		t.Fatal(err)
	}
	give(mine[0].ID, "The red one at Juma.")
	system.Eventually(t, "nobody is there for the answer", func() error {
		for _, node := range w.Nodes {
			if strings.Contains(node.Log(), "the asker of an inquiry is gone") {
				return nil
			}
		}
		return errors.New("no log says so")
	})
	c.dial("herd5")
	if got := c.expect("2", "", "1", "Enter your PIN", "70382", "Welcome Ben"); strings.Contains(got, "Read your answer") {
		t.Errorf("after the link has ended: %q", got)
	}
	if mine, err = documents(t, w.Node(1), person).MyQuestions(t.Context()); err != nil || len(mine) != 2 ||
		mine[0].Answer != "The red one at Juma." {
		t.Errorf("the person's own: %+v, %v", mine, err)
	}
}
