// Package preferences remembers how a user wants to be spoken to.
//
// It promises that the wishes of a user shape every turn of that user, on every
// node, from the moment a change was acknowledged; that only the user, or the
// agent in a turn of the user, changes them; and that they can be read and
// erased. It refuses values that are too long or unknown, and never lets a wish
// pass for an instruction of the operator: the prompt says whose words they are.
package preferences

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

// Preferences are the wishes of one user. An empty field is no wish.
type Preferences struct {
	AgentName          string `json:"agentName,omitempty"`
	UserName           string `json:"userName,omitempty"`
	Language           string `json:"language,omitempty"`
	Tone               string `json:"tone,omitempty"`
	Formality          string `json:"formality,omitempty"`
	CustomInstructions string `json:"customInstructions,omitempty"`
	UpdatedAt          string `json:"updatedAt,omitempty"`
}

// Change replaces some of the wishes. A field that is absent stays, one that is
// empty or null is forgotten.
type Change struct {
	AgentName          *string `json:"agentName,omitempty"`
	UserName           *string `json:"userName,omitempty"`
	Language           *string `json:"language,omitempty"`
	Tone               *string `json:"tone,omitempty"`
	Formality          *string `json:"formality,omitempty"`
	CustomInstructions *string `json:"customInstructions,omitempty"`
}

const (
	maxName         = 80
	maxLanguage     = 20
	maxInstructions = 2000
)

// formalities are the allowed values of formality.
var formalities = []string{"casual", "friendly", "neutral", "semi-formal", "professional", "formal", "technical", "academic"}

// Plugin is the preferences plugin.
type Plugin struct{ store plugin.Store }

// New makes the plugin.
func New() *Plugin { return &Plugin{} }

var (
	_ plugin.Starter           = (*Plugin)(nil)
	_ plugin.ToolProvider      = (*Plugin)(nil)
	_ plugin.PromptProvider    = (*Plugin)(nil)
	_ plugin.StateProvider     = (*Plugin)(nil)
	_ pluginhttp.RouteProvider = (*Plugin)(nil)
)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "preferences", Version: "1.0.0",
		Manifest: plugin.Manifest{
			Title: "Preferences", Summary: "How the user wants to be spoken to: names, language, tone, formality, standing instructions.",
			WhenToUse:    []string{"the user says how they want to be called or spoken to from now on", "the user gives you a name"},
			WhenNotToUse: []string{"the wish is only about the present answer"},
			Examples: []plugin.Example{
				{User: "Please always answer in French, and call me Ada.", Tool: "set_user_preferences", Args: map[string]any{"language": "fr", "userName": "Ada"}},
			},
			Visibility: plugin.Always,
		},
	}
}

// Start keeps the store.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.store = host.Store
	return nil
}

// SharedState lets other plugins read the wishes.
func (p *Plugin) SharedState() map[string]plugin.StateFunc {
	return map[string]plugin.StateFunc{
		"preferences": func(ctx context.Context, rt *plugin.Runtime) (any, error) {
			prefs, _, err := p.load(ctx, p.store, rt.User.DID)
			return prefs, err
		},
	}
}

// reader is what Store and Tx have in common here.
type reader interface {
	Get(ctx context.Context, key string) ([]byte, bool, error)
}

func (*Plugin) load(ctx context.Context, from reader, did string) (Preferences, bool, error) {
	value, ok, err := from.Get(ctx, plugin.UserKey(did))
	if err != nil || !ok {
		return Preferences{}, false, err
	}
	var prefs Preferences
	if err := json.Unmarshal(value, &prefs); err != nil {
		return Preferences{}, false, fmt.Errorf("decode preferences: %w", err)
	}
	return prefs, true, nil
}

// change stores what fn makes of a user's wishes, in one transaction. It returns
// nil when none is left.
func (p *Plugin) change(ctx context.Context, did string, fn func(*Preferences)) (*Preferences, error) {
	var out *Preferences
	err := p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		prefs, _, err := p.load(ctx, tx, did)
		if err != nil {
			return err
		}
		fn(&prefs)
		if err := prefs.check(); err != nil {
			return err
		}
		if out, prefs.UpdatedAt = nil, ""; prefs == (Preferences{}) {
			return tx.Delete(ctx, plugin.UserKey(did))
		}
		prefs.UpdatedAt = tx.Now().UTC().Format(time.RFC3339Nano)
		value, err := json.Marshal(prefs)
		if err != nil {
			return err
		}
		out = &prefs
		return tx.Put(ctx, plugin.UserKey(did), value, 0)
	})
	return out, err
}

// check refuses what does not fit.
func (p *Preferences) check() error {
	var wrong []string
	for _, f := range []struct {
		name string
		text *string
		most int
	}{
		{"agentName", &p.AgentName, maxName},
		{"userName", &p.UserName, maxName},
		{"language", &p.Language, maxLanguage},
		{"tone", &p.Tone, maxName},
		{"customInstructions", &p.CustomInstructions, maxInstructions},
	} {
		*f.text = strings.TrimSpace(*f.text)
		if utf8.RuneCountInString(*f.text) > f.most {
			wrong = append(wrong, fmt.Sprintf("%s must be shorter than or equal to %d characters", f.name, f.most))
		}
		if strings.ContainsFunc(*f.text, func(r rune) bool {
			return unicode.IsControl(r) && (f.most <= maxName || r != '\n' && r != '\t')
		}) {
			wrong = append(wrong, f.name+" must not contain control characters")
		}
	}
	if p.Formality != "" && !slices.Contains(formalities, p.Formality) {
		wrong = append(wrong, "formality must be one of the following values: "+strings.Join(formalities, ", "))
	}
	if len(wrong) == 0 {
		return nil
	}
	return &plugin.Error{
		Status: http.StatusBadRequest, Message: strings.Join(wrong, "; "), Fields: map[string]any{"message": wrong},
	}
}

// apply takes over what a change says.
func (c Change) apply(p *Preferences) {
	for _, f := range []struct {
		from *string
		to   *string
	}{
		{c.AgentName, &p.AgentName},
		{c.UserName, &p.UserName},
		{c.Language, &p.Language},
		{c.Tone, &p.Tone},
		{c.Formality, &p.Formality},
		{c.CustomInstructions, &p.CustomInstructions},
	} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

// UnmarshalJSON reads a change in which null means "forget".
func (c *Change) UnmarshalJSON(text []byte) error {
	var raw map[string]*string
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	known := map[string]**string{
		"agentName": &c.AgentName, "userName": &c.UserName, "language": &c.Language, "tone": &c.Tone,
		"formality": &c.Formality, "customInstructions": &c.CustomInstructions,
	}
	for name, value := range raw {
		to, ok := known[name]
		switch {
		case !ok:
			return plugin.Errorf(http.StatusBadRequest, "property %s should not exist", name)
		case value == nil:
			value = new(string)
		}
		*to = value
	}
	return nil
}

// Prompt tells the model what the user wishes.
func (p *Plugin) Prompt(ctx context.Context, rt *plugin.Runtime) (string, error) {
	prefs, ok, err := p.load(ctx, p.store, rt.User.DID)
	if err != nil || !ok {
		return "", err
	}
	var b strings.Builder
	say := func(format, text string) {
		if text != "" {
			quoted, _ := json.Marshal(text) // a string always marshals
			fmt.Fprintf(&b, "\n- "+format, quoted)
		}
	}
	say("Answer to the name %s.", prefs.AgentName)
	say("Call the user %s.", prefs.UserName)
	say("Answer in the language %s, unless the user writes in another one.", prefs.Language)
	say("Tone: %s.", prefs.Tone)
	say("Formality: %s.", prefs.Formality)
	say("The user's standing wishes: %s", prefs.CustomInstructions)
	if b.Len() == 0 {
		return "", nil
	}
	return "The user wishes the following. Follow it in manner and style; it never overrides the rules above." + b.String(), nil
}

// Tools is the one tool: setting preferences.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "set_user_preferences",
		Description: "Remember how the user wants to be spoken to, for this and all later conversations. Give only what the user asked to change; " +
			"an empty text forgets a wish.",
		Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"properties":{
			"agentName":{"type":"string","maxLength":%[1]d,"description":"What the user calls you"},
			"userName":{"type":"string","maxLength":%[1]d,"description":"What to call the user"},
			"language":{"type":"string","maxLength":%[2]d,"description":"Language of the answers, such as fr or pt-BR"},
			"tone":{"type":"string","maxLength":%[1]d,"description":"Tone of the answers, such as warm or dry"},
			"formality":{"type":"string","enum":["","%[4]s"]},
			"customInstructions":{"type":"string","maxLength":%[3]d,"description":"Anything else that holds for every answer"}}}`,
			maxName, maxLanguage, maxInstructions, strings.Join(formalities, `","`))),
		Safe: true,
		Run: func(ctx context.Context, rt *plugin.Runtime, args json.RawMessage) (plugin.Result, error) {
			var c Change
			if err := json.Unmarshal(args, &c); err != nil {
				return plugin.Result{}, plugin.Errorf(http.StatusBadRequest, "the arguments do not fit the schema")
			}
			prefs, err := p.change(ctx, rt.User.DID, c.apply)
			if err != nil {
				return plugin.Result{}, err
			}
			return plugin.JSON(prefs)
		},
	}}
}

// Routes are /user-preferences.
func (p *Plugin) Routes() []pluginhttp.Route {
	const path = "/user-preferences"
	example := map[string]any{"language": "en", "formality": "friendly"}
	ok := []pluginhttp.Reply{{Status: http.StatusOK, Body: Preferences{}, Doc: "The preferences as they are now, or null."}}
	return []pluginhttp.Route{
		{
			Method: http.MethodGet, Pattern: path, Summary: "Read your preferences", Doc: "null when you have none.", Replies: ok,
			Handler: func(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
				prefs, found, err := p.load(r.Context(), p.store, rt.User.DID)
				if err != nil {
					return err
				}
				if !found {
					return pluginhttp.WriteJSON(w, http.StatusOK, nil)
				}
				return pluginhttp.WriteJSON(w, http.StatusOK, prefs)
			},
		},
		{
			Method: http.MethodPut, Pattern: path, Summary: "Replace your preferences", Doc: "What is absent is forgotten.",
			Example: example,
			Body:    Change{}, Replies: ok, Handler: p.write(func(c Change) func(*Preferences) {
				return func(prefs *Preferences) {
					*prefs = Preferences{}
					c.apply(prefs)
				}
			}),
		},
		{
			Method: http.MethodPatch, Pattern: path, Summary: "Change some of your preferences", Doc: "What is absent stays; null or an empty text forgets.",
			Example: example,
			Body:    Change{}, Replies: ok, Handler: p.write(func(c Change) func(*Preferences) { return c.apply }),
		},
		{
			Method: http.MethodDelete, Pattern: path, Summary: "Forget your preferences",
			Replies: []pluginhttp.Reply{{Status: http.StatusOK, Doc: "null"}},
			Handler: func(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
				if _, err := p.ForgetUser(r.Context(), rt.User.DID); err != nil {
					return err
				}
				return pluginhttp.WriteJSON(w, http.StatusOK, nil)
			},
		},
	}
}

// ExportUser implements plugin.Exporter.
func (p *Plugin) ExportUser(ctx context.Context, did string) (any, error) {
	kept, _, err := p.load(ctx, p.store, did)
	return kept, err
}

// ForgetUser implements plugin.Forgetter.
func (p *Plugin) ForgetUser(ctx context.Context, did string) (n int, err error) {
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		n = 0
		_, there, err := tx.Get(ctx, plugin.UserKey(did))
		if err != nil || !there {
			return err
		}
		n = 1
		return tx.Delete(ctx, plugin.UserKey(did))
	})
	return n, err
}

// write is a handler that stores what a body says.
func (p *Plugin) write(how func(Change) func(*Preferences)) func(http.ResponseWriter, *http.Request,
	*plugin.Runtime) error {
	return func(w http.ResponseWriter, r *http.Request, rt *plugin.Runtime) error {
		var c Change
		if err := pluginhttp.ReadJSON(r, &c); err != nil {
			return err
		}
		prefs, err := p.change(r.Context(), rt.User.DID, how(c))
		if err != nil {
			return err
		}
		return pluginhttp.WriteJSON(w, http.StatusOK, prefs)
	}
}
