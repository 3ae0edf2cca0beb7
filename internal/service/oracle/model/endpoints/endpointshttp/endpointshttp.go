// Package endpointshttp tells operators over HTTP whether their models answer.
package endpointshttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
)

// CheckBody is the body of GET /operator/models.
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
	OK    bool   `json:"ok"`
	// Problem is one sentence; absent when all is well.
	Problem string `json:"problem,omitempty"`
}

// Surface returns the route.
func Surface(c *endpoints.Checker) httpserver.Surface {
	return httpserver.Surface{
		Name: "operator models", Doc: "Whether the models answer.",
		Routes: []httpserver.Route{{
			Method: http.MethodGet, Pattern: "/operator/models", Auth: httpserver.Operator, Tags: []string{"Operators"},
			Summary: "Whether the models answer",
			Doc: "Asks every endpoint of the document of models, and has each model say a word. Answers are remembered for five minutes, " +
				"or half a minute when something is wrong, and until the document changes.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: CheckBody{}}},
			Handler: func(w http.ResponseWriter, r *http.Request) error {
				check, err := c.Check(r.Context())
				if err != nil {
					return err
				}
				body := CheckBody{
					CheckedAt: check.At.UTC().Format("2006-01-02T15:04:05.000Z"), OK: true,
					Findings: make([]FindingBody, len(check.Findings)),
				}
				for i, f := range check.Findings {
					body.Findings[i] = FindingBody{
						Endpoint: f.Endpoint, Host: f.Host, Model: f.Model, OK: f.Problem == "", Problem: f.Problem,
					}
					body.OK = body.OK && f.Problem == ""
				}
				return httpserver.WriteJSON(w, http.StatusOK, body)
			},
		}},
	}
}
