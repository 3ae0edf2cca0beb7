// Package endpointshttp tells operators over HTTP whether their models, and the
// services of speech, answer.
package endpointshttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
)

// CheckBody is the body of GET /operator/models and GET /operator/speech.
type CheckBody struct {
	// CheckedAt is when the endpoints were asked: answers are remembered.
	CheckedAt string        `json:"checkedAt"`
	OK        bool          `json:"ok"`
	Findings  []FindingBody `json:"findings"`
}

// FindingBody is what an endpoint, or a model there, said.
type FindingBody struct {
	Endpoint string `json:"endpoint"`
	Host     string `json:"host,omitempty"`
	// Model is absent for the endpoint itself.
	Model string `json:"model,omitempty"`
	// Speech is hearing or voice, for a service of speech.
	Speech string `json:"speech,omitempty"`
	OK     bool   `json:"ok"`
	// Problem is one sentence; absent when all is well.
	Problem string `json:"problem,omitempty"`
}

// remembered says how long an answer is good.
const remembered = " Answers are remembered for five minutes, or half a minute when something is wrong, and until the document changes."

// Surface returns the routes.
func Surface(models, speech *endpoints.Checker) httpserver.Surface {
	return httpserver.Surface{
		Name: "operator models", Doc: "Whether the models and the services of speech answer.",
		Routes: []httpserver.Route{
			route("/operator/models", "Whether the models answer",
				"Asks every endpoint of the document of models, and has each model say a word."+remembered, models),
			route("/operator/speech", "Whether the services of speech answer",
				"Has each service of calls understand a second of silence, or say a word, in the order in which they are asked."+
					remembered, speech),
		},
	}
}

func route(pattern, summary, doc string, c *endpoints.Checker) httpserver.Route {
	return httpserver.Route{
		Method: http.MethodGet, Pattern: pattern, Auth: httpserver.Operator, Tags: []string{"Operators"}, Summary: summary, Doc: doc,
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: CheckBody{}}},
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			check, err := c.Check(r.Context())
			if err != nil {
				return err
			}
			return httpserver.WriteJSON(w, http.StatusOK, bodyOf(check))
		},
	}
}

func bodyOf(check endpoints.Check) CheckBody {
	body := CheckBody{
		CheckedAt: check.At.UTC().Format("2006-01-02T15:04:05.000Z"), OK: true,
		Findings: make([]FindingBody, len(check.Findings)),
	}
	for i, f := range check.Findings {
		body.Findings[i] = FindingBody{
			Endpoint: f.Endpoint, Host: f.Host, Model: f.Model, Speech: f.Speech, OK: f.Problem == "", Problem: f.Problem,
		}
		body.OK = body.OK && f.Problem == ""
	}
	return body
}
