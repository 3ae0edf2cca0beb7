package zoo

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
)

// Trouble is an endpoint that does not work, in one of the ways in which real
// ones do not.
type Trouble struct {
	Name string
	// Source is where its words are known from.
	Source string
	// Kind is openai or anthropic.
	Kind string
	// Says is what an operator should read.
	Says string

	// list answers a request for models, and ask one for an answer; a list without
	// a status is one of models that do not matter.
	list, ask refusal
	broken    string // a connection that does not come about
}

// Troubles are the ways in which endpoints do not work.
func Troubles() []Trouble {
	no := func(status int, body string) refusal { return refusal{status: status, body: body} }
	return []Trouble{
		{Name: "a name that is not there", Source: "net.DNSError", Kind: "openai", broken: "dns", Says: "the name zoo.example cannot be found (DNS)"},
		{Name: "nothing listens", Source: "a local server that was not started", Kind: "openai", broken: "refused", Says: "nothing listens there (connection refused)"},
		{Name: "a certificate of nobody", Source: "a proxy with its own authority", Kind: "openai", broken: "certificate", Says: "its certificate is signed by nobody whom this machine trusts (TLS)"},
		{
			Name: "https where http is spoken", Source: "net/http", Kind: "openai", broken: "plain",
			Says: "it does not speak TLS: base_url begins with http://, or the port is another one (TLS)",
		},
		{
			Name: "openai, a wrong key", Source: facts + " 1", Kind: "openai", Says: "the key was refused (status 401)",
			list: no(401, `{"error":{"message":"Incorrect API key provided: sk-no*****ne.","type":"invalid_request_error","code":"invalid_api_key"}}`),
		},
		{
			Name: "anthropic, a wrong key", Source: "anthropic-sdk-go v1.84.0", Kind: "anthropic", Says: "the key was refused (status 401)",
			list: no(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`),
		},
		{
			Name: "a proxy that lists for anybody and asks for a key", Source: "LiteLLM", Kind: "openai", Says: "the key was refused (status 401)",
			ask: no(401, `{"error":{"message":"Authentication Error","type":"auth_error"}}`),
		},
		{
			Name: "openai, an unknown model", Source: facts + " 1", Kind: "openai", Says: `the endpoint knows no model "zoo"`,
			ask: no(404, `{"error":{"message":"The model zoo does not exist or you do not have access to it.","type":"invalid_request_error","code":"model_not_found"}}`),
		},
		{
			Name: "anthropic, an unknown model", Source: "anthropic-sdk-go v1.84.0", Kind: "anthropic", Says: `the endpoint knows no model "zoo"`,
			ask: no(404, `{"type":"error","error":{"type":"not_found_error","message":"model: zoo"}}`),
		},
		{
			Name: "mistral, an unknown model", Source: facts + " 3", Kind: "openai", Says: `the endpoint knows no model "zoo"`,
			ask: no(400, `{"object":"error","message":"Invalid model: zoo is not a valid model","type":"invalid_model"}`),
		},
		{
			Name: "openai without quota", Source: facts + " 1", Kind: "openai", Says: "the account has no quota or credit left",
			ask: no(429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`),
		},
		{
			Name: "anthropic without credit", Source: "anthropic-sdk-go v1.84.0", Kind: "anthropic", Says: "the account has no quota or credit left",
			ask: no(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`),
		},
		{
			Name: "openrouter without credit", Source: facts + " 3", Kind: "openai", Says: "the account has no quota or credit left",
			ask: no(402, `{"error":{"code":402,"message":"Insufficient credits"}}`),
		},
		{
			Name: "no list, and an unknown model", Source: "proxies without /models", Kind: "openai", Says: `the endpoint knows no model "zoo"`,
			list: no(404, "not found"), ask: no(404, `{"error":{"message":"model zoo not found"}}`),
		},
		{Name: "a broken server", Source: "gateways in front of it", Kind: "openai", Says: "it has trouble of its own (status 502)", list: no(502, "<html>")},
		{Name: "an address that moved", Source: "http where https is wanted", Kind: "openai", Says: "it answers with a redirect (status 301): base_url is not quite right", list: no(301, "")},
	}
}

// Troubled plays a Trouble.
type Troubled struct {
	Trouble
	web   *httptest.Server
	asked atomic.Int64
}

// OpenTrouble starts it. Close ends it.
func OpenTrouble(t Trouble) *Troubled {
	s := &Troubled{Trouble: t}
	s.web = httptest.NewUnstartedServer(s)
	s.web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // broken handshakes are meant
	if t.broken == "certificate" {
		s.web.StartTLS()
	} else {
		s.web.Start()
	}
	if t.broken == "refused" {
		s.web.Close()
	}
	return s
}

// Close stops it.
func (s *Troubled) Close() { s.web.Close() }

// URL is its address.
func (s *Troubled) URL() string {
	switch s.broken {
	case "dns":
		return "https://zoo.example/v1"
	case "plain":
		return "https" + s.web.URL[len("http"):] + "/v1"
	}
	return s.web.URL + "/v1"
}

// Transport leads to it; nil is the usual one.
func (s *Troubled) Transport() http.RoundTripper {
	if s.broken == "dns" {
		return nameless{}
	}
	return nil
}

// nameless is a machine that finds no name. A real look-up would leave it.
type nameless struct{}

// RoundTrip fails.
func (nameless) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
}

// Asked is how many requests came.
func (s *Troubled) Asked() int64 { return s.asked.Load() }

// ServeHTTP plays the trouble.
func (s *Troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	no := s.ask
	if r.Method == http.MethodGet {
		no = s.list
	}
	w.Header().Set("Content-Type", "application/json")
	if no.status == 0 {
		_, _ = io.WriteString(w, `{"data":[{"id":"zoo"},{"id":"other"}]}`)
		return
	}
	if no.status == http.StatusMovedPermanently {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(no.status)
	_, _ = io.WriteString(w, no.body)
}
