package knowledgeclient

import (
	"context"
	"net/http"
	"net/url"

	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

// Question is a question to people.
type Question = knowledgehttp.QuestionEntry

const (
	minePath  = "/knowledge/questions"
	staffPath = "/api/knowledge/questions"
	// everyPath has those of every collection, for operators.
	everyPath = "/operator/knowledge/questions"
)

// AsOperator is the same client, for which the questions of every collection wait.
func (c *Client) AsOperator() *Client {
	o := *c
	o.staff = everyPath
	return &o
}

// AskPeople sends a question to people.
func (c *Client) AskPeople(ctx context.Context, body knowledgehttp.QuestionBody) (Question, error) {
	var q Question
	err := c.call(ctx, http.MethodPost, minePath, body, &q)
	return q, err
}

// MyQuestions lists what the caller has asked people.
func (c *Client) MyQuestions(ctx context.Context) ([]Question, error) {
	var l knowledgehttp.QuestionList
	err := c.call(ctx, http.MethodGet, minePath, nil, &l)
	return l.Questions, err
}

// Questions lists what waits for the caller as staff, or was settled.
func (c *Client) Questions(ctx context.Context, state string) ([]Question, error) {
	var all []Question
	for after := ""; ; {
		var l knowledgehttp.QuestionList
		if err := c.call(ctx, http.MethodGet, c.staff+"?state="+url.QueryEscape(state)+"&after="+url.QueryEscape(after),
			nil, &l); err != nil {
			return nil, err
		}
		all = append(all, l.Questions...)
		if after = l.Next; after == "" {
			return all, nil
		}
	}
}

// AnswerQuestion answers a question that waits.
func (c *Client) AnswerQuestion(ctx context.Context, id string, body knowledgehttp.ReplyBody) (Question, error) {
	var q Question
	err := c.call(ctx, http.MethodPost, c.staff+"/"+url.PathEscape(id)+"/answer", body, &q)
	return q, err
}

// DismissQuestion dismisses a question that waits.
func (c *Client) DismissQuestion(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, c.staff+"/"+url.PathEscape(id)+"/dismiss", nil, nil)
}

// RemoveQuestion forgets a question and takes back the pair that it became.
func (c *Client) RemoveQuestion(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, c.staff+"/"+url.PathEscape(id), nil, nil)
}
