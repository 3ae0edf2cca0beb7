package endpoints

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
)

// singleName is how a document with one endpoint calls it.
const singleName = "model"

// Single is a document of models with one endpoint and one model: what most communities
// have, and what a form can ask for.
type Single struct {
	// Kind is openai (all that speak its wire), anthropic or guide, which has nothing else.
	Kind string
	// Address is where the endpoint is; empty is its vendor's own.
	Address string
	// Model is how the endpoint names it.
	Model string
	// Key opens the endpoint; nil is the one that the stored document has.
	Key *string
	// KeyGiven says of what was read that there is a key. The key itself is never read.
	KeyGiven bool
}

// ReadSingle reads a document as a form does. Whole says that the form shows all of it, so
// that nothing is lost when the form writes it again.
func ReadSingle(text []byte) (s Single, whole bool, err error) {
	d, err := read(text)
	if err != nil {
		return Single{}, false, err
	}
	m := d.Models[0]
	e := d.Endpoints[m.Endpoint]
	if e.Kind == kindGuide {
		return Single{Kind: kindGuide}, reflect.DeepEqual(d.Models, []Model{{ID: "guide", Endpoint: m.Endpoint}}) &&
			d.onlyModels(), nil
	}
	s = Single{Kind: e.Kind, Address: e.BaseURL.Text, Model: m.asked(), KeyGiven: e.Key != Reference{}}
	plain := e == Endpoint{Kind: e.Kind, BaseURL: Reference{Text: s.Address}, Key: Reference{Text: e.Key.Text}} &&
		reflect.DeepEqual(m, Model{ID: m.ID, Name: m.Name, Endpoint: m.Endpoint})
	return s, plain && len(d.Models) == 1 && d.onlyModels(), nil
}

// onlyModels reports whether a document is one endpoint, and what is there.
func (d *Document) onlyModels() bool {
	return len(d.Endpoints) == 1 && len(d.Fallback) == 0 && reflect.ValueOf(d.Speech).IsZero()
}

// Write returns the document. Before is the stored one, whose key is kept where none is
// given; it opens the address alone for which it was sealed.
func (s Single) Write(before []byte) ([]byte, error) {
	if s.Kind == kindGuide {
		if s.Address != "" || s.Model != "" || s.Key != nil && *s.Key != "" {
			return nil, errors.New("the guide is built in and has a kind only")
		}
		return []byte(builtIn), nil
	}
	if s.Kind != kindOpenAI && s.Kind != kindAnthropic {
		return nil, fmt.Errorf("kind is %.40q, allowed is openai (all that speak its wire), anthropic or guide", s.Kind)
	}
	e, m := Endpoint{Kind: s.Kind, BaseURL: Reference{Text: strings.TrimRight(s.Address, "/")}},
		Model{ID: s.Model, Endpoint: singleName}
	old, err := read(before)
	if err == nil && len(old.Models) == 1 {
		if old.Models[0].asked() == s.Model { // conversations know the model by its id
			m.ID, m.Name = old.Models[0].ID, old.Models[0].Name
		}
	}
	if s.Key != nil {
		if strings.HasPrefix(*s.Key, sealedPrefix) {
			return nil, errors.New("key: write the key itself, as its vendor gave it")
		}
		e.Key.Text = *s.Key
	} else if err == nil {
		e.Key.Text = old.Endpoints[old.Models[0].Endpoint].Key.Text
	}
	d := Document{Endpoints: map[string]Endpoint{singleName: e}, Models: []Model{m}}
	if err := d.check(); err != nil {
		return nil, err
	}
	return yaml.Marshal(d)
}

// Try asks the models of a text that is not stored: it is what an operator would store.
func (c Config) Try(ctx context.Context, text []byte) ([]Finding, error) {
	text, err := c.sealKeys(text)
	if err != nil {
		return nil, err
	}
	set, err := c.Parse(text, operatordoc.FromDatabase)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	return set.Probe(ctx, true), nil
}
