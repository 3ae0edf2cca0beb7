package knowledgehttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
)

const operatorPrefix = "/operator/knowledge"

// QuestionBody sends a question to people. Sending it is the asker's consent.
type QuestionBody struct {
	Question string `json:"question"`
	Language string `json:"language,omitempty"`
	// Collection says whose people are asked; without it those of the nearest document.
	Collection string `json:"collection,omitempty"`
	// SessionID is the conversation that gets the answer; without it the answer is
	// found under GET /knowledge/questions alone.
	SessionID string `json:"sessionId,omitempty"`
	// ShowMe lets staff see who asks, by Name or else by DID. Without it they do not.
	ShowMe bool   `json:"showMe,omitempty"`
	Name   string `json:"name,omitempty"`
}

// ReplyBody answers a question.
type ReplyBody struct {
	Answer string `json:"answer"`
	// Keep makes question and answer a pair of the collection, which wins where the same
	// is asked again. Question is how the pair asks, if not as the asker did.
	Keep     bool   `json:"keep,omitempty"`
	Question string `json:"question,omitempty"`
}

// QuestionEntry is a question to people. From is there only if the asker agreed, and
// events are for staff.
type QuestionEntry struct {
	ID             string       `json:"id"`
	Collection     string       `json:"collection"`
	CollectionName string       `json:"collectionName"`
	Question       string       `json:"question"`
	Language       string       `json:"language,omitempty"`
	Channel        string       `json:"channel"`
	From           string       `json:"from,omitempty"`
	State          string       `json:"state"`
	Answer         string       `json:"answer,omitempty"`
	Kept           bool         `json:"kept,omitempty"`
	AskedAt        string       `json:"askedAt"`
	SettledAt      string       `json:"settledAt,omitempty"`
	Events         []EventEntry `json:"events,omitempty"`
}

// EventEntry is who did what when.
type EventEntry struct {
	At   string `json:"at"`
	By   string `json:"by,omitempty"`
	What string `json:"what"`
}

// QuestionList is a page of questions.
type QuestionList struct {
	Questions []QuestionEntry `json:"questions"`
	// Next is what to pass as after; empty at the end.
	Next string `json:"next,omitempty"`
}

func questionEntry(q inquiry.Inquiry) QuestionEntry {
	e := QuestionEntry{
		ID: q.ID, Collection: q.Collection.ID, CollectionName: q.Collection.Name, Question: q.Text, Language: q.Language,
		Channel: string(q.Channel),
		From:    q.From, State: q.State.String(), Answer: q.Answer, Kept: q.Kept, AskedAt: stamp(q.Created),
		SettledAt: stamp(q.Settled),
	}
	for _, ev := range q.Events {
		e.Events = append(e.Events, EventEntry{stamp(ev.At), ev.By, ev.What})
	}
	return e
}

func questionList(all []inquiry.Inquiry) QuestionList {
	out := QuestionList{Questions: make([]QuestionEntry, 0, len(all))}
	for _, q := range all {
		out.Questions = append(out.Questions, questionEntry(q))
	}
	return out
}

// operatorSurface has the routes with which operators answer, for every collection.
func operatorSurface(q *inquiry.Service) httpserver.Surface {
	a := &api{deps: Deps{Inquiries: q}}
	return httpserver.Surface{
		Name: "knowledge operator", Prefixes: []string{operatorPrefix},
		Routes: a.staffRoutes(operatorPrefix, httpserver.Operator, []string{"Operators"}, func(h staffHandler) httpserver.Handler {
			return func(w http.ResponseWriter, r *http.Request) error {
				return h(w, r, inquiry.Scope{All: true}, httpserver.OperatorOf(r.Context()).Name)
			}
		}),
	}
}

// staffHandler serves somebody who may answer the questions of a scope.
type staffHandler func(w http.ResponseWriter, r *http.Request, s inquiry.Scope, by string) error

func (a *api) staffRoutes(prefix string, auth httpserver.Auth, tags []string,
	serve func(staffHandler) httpserver.Handler,
) []httpserver.Route {
	id := []httpserver.Param{{Name: "id", In: "path", Required: true, Doc: "Id of the question."}}
	return []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: prefix + "/questions", Summary: "List questions that people are to answer, the oldest first", Tags: tags, Auth: auth,
			Params: []httpserver.Param{
				{Name: "state", In: "query", Doc: "waiting (the default), answered or dismissed."},
				{Name: "after", In: "query", Doc: "The last id of the page before."},
				{Name: "limit", In: "query", Schema: 0},
			},
			Replies: []httpserver.Reply{{Status: 200, Body: QuestionList{}}}, Handler: serve(a.listQuestions),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/questions/{id}/answer", Summary: "Answer a question that waits", Tags: tags, Auth: auth, Params: id,
			Doc:  "The answer reaches the asker's own channel. With keep it becomes a pair that wins where the same is asked again.",
			Body: ReplyBody{}, Replies: []httpserver.Reply{{Status: 200, Body: QuestionEntry{}}},
			Handler: serve(a.answerQuestion),
		},
		{
			Method: http.MethodPost, Pattern: prefix + "/questions/{id}/dismiss", Summary: "Dismiss a question that waits", Tags: tags, Auth: auth, Params: id,
			Replies: []httpserver.Reply{{Status: 200, Body: QuestionEntry{}}}, Handler: serve(a.dismissQuestion),
		},
		{
			Method: http.MethodDelete, Pattern: prefix + "/questions/{id}", Summary: "Forget a question, and take back the pair that it became", Tags: tags, Auth: auth,
			Params: id, Replies: []httpserver.Reply{{Status: 204}}, Handler: serve(a.removeQuestion),
		},
	}
}

// staffed is for holders of a token that gives knowledge/answer in a folder, or
// everything.
func (a *api) staffed(h staffHandler) httpserver.Handler {
	return a.bearing(func(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
		reach, err := knowledge.ListedBy(p, inquiry.Ability)
		if err != nil {
			if all, managed := knowledge.ManagedBy(p); managed == nil {
				reach, err = all.Reach, nil
			}
		}
		if err != nil {
			return err
		}
		return h(w, r, inquiry.Scope{Reach: reach}, p.DID)
	})
}

func (a *api) askPeopleRoutes() []httpserver.Route {
	return []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: askPrefix + "/questions", Summary: "Send a question that no document answers to people", Tags: tags, Auth: httpserver.Principal,
			Doc:  "Staff see the question, and who asks only with showMe.",
			Body: QuestionBody{}, Replies: []httpserver.Reply{{Status: 201, Body: QuestionEntry{}}},
			Handler: a.byPerson(a.askPeople),
		},
		{
			Method: http.MethodGet, Pattern: askPrefix + "/questions", Summary: "List what you have asked people, with their answers", Tags: tags, Auth: httpserver.Principal,
			Replies: []httpserver.Reply{{Status: 200, Body: QuestionList{}}}, Handler: a.byPerson(a.myQuestions),
		},
	}
}

// byPerson is for somebody who has a DID: an answer needs to find its asker.
func (a *api) byPerson(h func(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error) httpserver.Handler {
	return a.identified(func(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
		if who.DID == "" {
			return fault.New(fault.Forbidden, "Nobody would get the answer.")
		}
		return h(w, r, who)
	})
}

func (a *api) askPeople(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
	var body QuestionBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	name := body.Name
	if name == "" {
		name = who.DID
	}
	q, err := a.deps.Inquiries.Ask(r.Context(), who, inquiry.Asking{
		Text: body.Question, Language: body.Language, Collection: body.Collection,
		Asker: inquiry.Asker{Channel: inquiry.Web, ID: who.DID, Session: body.SessionID, Shown: body.ShowMe, Name: name},
	})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, questionEntry(q))
}

func (a *api) myQuestions(w http.ResponseWriter, r *http.Request, who knowledge.Caller) error {
	all, err := a.deps.Inquiries.Mine(r.Context(), inquiry.Asker{Channel: inquiry.Web, ID: who.DID})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, questionList(all))
}

func (a *api) listQuestions(w http.ResponseWriter, r *http.Request, s inquiry.Scope, _ string) error {
	query := r.URL.Query()
	p := inquiry.Page{After: query.Get("after"), Limit: inquiry.MaxPage}
	if word := query.Get("state"); word != "" {
		state, ok := inquiry.ParseState(word)
		if !ok {
			return fault.New(fault.Invalid, "state must be waiting, answered or dismissed")
		}
		p.State = state
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fault.New(fault.Invalid, "limit must be a number of at least 1")
		}
		p.Limit = min(n, inquiry.MaxPage)
	}
	all, err := a.deps.Inquiries.List(r.Context(), s, p)
	if err != nil {
		return err
	}
	out := questionList(all)
	if len(all) == p.Limit {
		out.Next = all[len(all)-1].ID
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) answerQuestion(w http.ResponseWriter, r *http.Request, s inquiry.Scope, by string) error {
	var body ReplyBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	q, err := a.deps.Inquiries.Answer(r.Context(), s, r.PathValue("id"),
		inquiry.Answering{Text: body.Answer, Keep: body.Keep, Question: body.Question, By: by})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, questionEntry(q))
}

func (a *api) dismissQuestion(w http.ResponseWriter, r *http.Request, s inquiry.Scope, by string) error {
	q, err := a.deps.Inquiries.Dismiss(r.Context(), s, r.PathValue("id"), by)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, questionEntry(q))
}

func (a *api) removeQuestion(w http.ResponseWriter, r *http.Request, s inquiry.Scope, by string) error {
	if err := a.deps.Inquiries.Remove(r.Context(), s, r.PathValue("id"), by); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
