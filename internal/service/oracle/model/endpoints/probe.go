package endpoints

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

const (
	listLimit  = 10 * time.Second
	askLimit   = 30 * time.Second
	maxList    = 8 << 20
	askedWords = 16 // tokens; some endpoints take no fewer
	maxNamed   = 5  // models that a sentence names
)

// Finding is what an endpoint, or a model there, said when it was asked.
type Finding struct {
	Endpoint string
	// Host is where it is; empty for the guide.
	Host string
	// Model is the id of the model that was asked; empty for the endpoint itself.
	Model string
	// Speech is the half of speech that was asked for: hearing or voice.
	Speech string
	// Problem is one sentence; empty when all is well. Why is the same for those who say it
	// in another language.
	Problem string
	Why     *trouble.Trouble
}

// is notes what is wrong; nil is nothing.
func (f *Finding) is(why *trouble.Trouble) {
	f.Problem, f.Why = "", why
	if why != nil {
		f.Problem = why.Error()
	}
}

// trouble is a finding with a problem, as operators are told it.
func (f *Finding) trouble() *trouble.Trouble {
	values := words.Values{"endpoint": f.Endpoint, "host": f.Host}
	switch {
	case f.Model == "":
		return f.Why.Of("health.endpoint", values)
	case f.Speech == "":
		values["model"] = f.Model
		return f.Why.Of("health.endpointModel", values)
	}
	values["model"], values["half"] = f.Model, f.Speech
	return f.Why.Of("health.endpointSpeech", values)
}

// Part is what the finding is about: the models, or speech.
func (f Finding) Part() string {
	if f.Speech != "" {
		return "speech"
	}
	return "models"
}

// ModelsRemedy says what corrects findings about models, and speechRemedy about speech.
const (
	ModelsRemedy = "correct the document of models, its key, or MODEL"
	speechRemedy = "correct `speech` in the document of models, or SPEECH_TO_TEXT_URL, TEXT_TO_SPEECH_URL and SPEECH_API_KEY"
)

// Remedy says what corrects it.
func (f Finding) Remedy() string {
	if f.Speech != "" {
		return speechRemedy
	}
	return ModelsRemedy
}

// Text is the finding as one sentence.
func (f Finding) Text() string {
	who := "endpoint " + f.Endpoint
	if f.Host != "" {
		who += " (" + f.Host + ")"
	}
	if f.Speech != "" {
		who += ", " + f.Speech
	}
	if f.Model != "" {
		who += ", model " + f.Model
	}
	if f.Problem == "" {
		return who + ": answers"
	}
	return who + ": " + f.Problem
}

// Probe asks every endpoint. It lists the models, which costs nothing; deep also
// has each model say a word, which alone shows whether there is quota left.
func (s *Set) Probe(ctx context.Context, deep bool) []Finding {
	found := make([][]Finding, len(s.places))
	var all sync.WaitGroup
	for i, p := range s.places {
		all.Go(func() { found[i] = p.probe(ctx, deep) })
	}
	all.Wait()
	return slices.Concat(found...)
}

func (p *place) probe(ctx context.Context, deep bool) []Finding {
	f := Finding{Endpoint: p.name}
	if p.kind == kindGuide {
		return []Finding{f}
	}
	if u, err := url.Parse(p.base); err == nil {
		f.Host = u.Host
	}
	listed, why := p.list(ctx)
	if f.is(why); why != nil {
		return []Finding{f}
	}
	out := []Finding{f}
	for _, o := range p.offers {
		f.Model, why = o.id, nil
		switch {
		case deep:
			why = o.ask(ctx, p.key != "")
		case len(listed) > 0 && !lists(listed, o.name()):
			why = trouble.New("health.notListed", words.Values{"model": o.name(), "names": named(listed)})
		}
		f.is(why)
		out = append(out, f)
	}
	return out
}

// list asks for the models. Endpoints that have no such list answer 404, and
// Azure lists what one could deploy: that says nothing.
func (p *place) list(ctx context.Context) (names []string, why *trouble.Trouble) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	address := p.base + "/models"
	if p.kind == kindAnthropic {
		address = strings.TrimSuffix(p.base, "/v1") + "/v1/models?limit=1000"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, trouble.New("health.badAddress", nil)
	}
	switch {
	case p.kind == kindAnthropic:
		req.Header.Set("X-Api-Key", p.key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	case p.key != "":
		req.Header.Set("Authorization", "Bearer "+p.key)
		req.Header.Set("Api-Key", p.key) // Azure
	}
	client := &http.Client{Transport: p.transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, unreachable(err, listLimit)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, unreachable(err, listLimit)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, keyRefused(code, p.key != "")
	case code == http.StatusPaymentRequired:
		return nil, noQuota()
	case code >= 300 && code < 400:
		return nil, withStatus("health.redirects", code)
	case code >= 500:
		return nil, withStatus("health.ownTrouble", code)
	case code != http.StatusOK || strings.Contains(p.base, ".azure.com"):
		return nil, nil
	}
	return listedIn(body), nil
}

func noQuota() *trouble.Trouble { return trouble.New("health.noQuota", nil) }

// withStatus is a trouble whose sentence names the status of an answer.
func withStatus(key string, status int) *trouble.Trouble {
	return trouble.New(key, words.Values{"status": strconv.Itoa(status)})
}

func keyRefused(status int, given bool) *trouble.Trouble {
	if !given {
		return withStatus("health.keyWanted", status)
	}
	return withStatus("health.keyRefused", status)
}

// listedIn reads the names of models in a list of any form.
func listedIn(body []byte) []string {
	var list struct {
		Data, Models []struct{ ID, Name string }
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	var out []string
	for _, m := range slices.Concat(list.Data, list.Models) {
		if name := m.ID; name != "" || m.Name != "" {
			if name == "" {
				name = m.Name
			}
			out = append(out, strings.TrimPrefix(name, "models/"))
		}
	}
	return out
}

// lists reports whether a name is in a list. Aliases are not listed by all: a
// name that a listed one begins with counts, as llama3 for llama3:latest.
func lists(listed []string, name string) bool {
	name = strings.TrimPrefix(name, "models/")
	return slices.ContainsFunc(listed, func(l string) bool { return strings.HasPrefix(l, name) })
}

func named(listed []string) string {
	slices.Sort(listed)
	text := strings.Join(listed[:min(maxNamed, len(listed))], ", ")
	if more := len(listed) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return model.Scrub(text)
}

// ask has a model say a word.
func (o *offer) ask(ctx context.Context, keyGiven bool) *trouble.Trouble {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	_, err := o.provider.Stream(ctx, plugin.ModelRequest{
		Model: o.name(), Purpose: "check", MaxTokens: askedWords,
		Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: "Say ok."}},
	}, func(plugin.Chunk) {})
	if err == nil {
		return nil
	}
	e := model.From(err)
	said := strings.ToLower(e.Detail)
	switch {
	case e.Kind == model.Billing || strings.Contains(said, "quota"):
		return noQuota()
	case e.Kind == model.Auth:
		return keyRefused(e.Status, keyGiven)
	case e.Kind == model.RateLimit:
		return withStatus("health.busy", e.Status)
	case e.Status == http.StatusNotFound || strings.Contains(said, "model") &&
		(strings.Contains(said, "not found") || strings.Contains(said, "not exist") || strings.Contains(said, "not a valid")):
		return trouble.New("health.noModel", words.Values{"model": o.name()})
	case e.Kind == model.Network || e.Kind == model.Timeout:
		return unreachable(err, askLimit)
	case e.Status != 0:
		return trouble.New("health.refuses", words.Values{"status": strconv.Itoa(e.Status), "said": model.Scrub(e.Detail)})
	}
	return trouble.New("health.noAnswer", words.Values{"said": model.Scrub(e.Error())})
}

// unreachable says in one sentence why a connection did not come about.
func unreachable(err error, limit time.Duration) *trouble.Trouble {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return trouble.New("health.noName", words.Values{"name": dns.Name})
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		_ = unknown
		return trouble.New("health.untrusted", nil)
	}
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return trouble.New("health.otherName", words.Values{"name": wrong.Host})
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return trouble.New("health.expired", nil)
		}
		return trouble.New("health.invalid", nil)
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return trouble.New("health.noTLS", nil)
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return trouble.New("health.alert", words.Values{"alert": alert.Error()})
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return trouble.New("health.nobodyListens", nil)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return trouble.New("health.noWay", nil)
	case errors.Is(err, context.DeadlineExceeded):
		return late(limit)
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return late(limit)
	}
	return trouble.New("health.broke", nil)
}

func late(limit time.Duration) *trouble.Trouble {
	return trouble.New("health.late", words.Values{"limit": limit.String()})
}
