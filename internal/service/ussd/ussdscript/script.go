// Package ussdscript runs flow files: recorded USSD sessions that a menu, or a
// running gateway, must answer word for word.
//
// A file holds flows; a flow holds steps; a step sends one input and says what
// must come back: the screen's name, the exact answer, or a part of it. Values
// that change from run to run are captured by a pattern and named later as
// ${name}.
//
//	flows:
//	  - name: know more
//	    steps:
//	      - dial: true
//	        screen: preMenu
//	      - input: "1"
//	        answer: "CON What would you like to know?\n1. About this service…"
package ussdscript

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// File is a flow file.
type File struct {
	// Menu names the menu that the flows are for, relative to the file.
	Menu  string `yaml:"menu"`
	Phone string `yaml:"phone"`
	Code  string `yaml:"code"`
	Flows []Flow `yaml:"flows"`
}

// Flow is one story, of one or more sessions of one telephone.
type Flow struct {
	Name  string `yaml:"name"`
	Phone string `yaml:"phone"`
	// Oracle is what the oracle answers, with ${question} in the place of the
	// question, and Entities what the chain knows, by identifier.
	Oracle   string            `yaml:"oracle"`
	Entities map[string]string `yaml:"entities"`
	// Documents is what the documents answer, by question: with an empty text they
	// fail. Without it there are none, and no such item in the menu.
	Documents map[string]string `yaml:"documents"`
	// People is what becomes of questions that are sent to people: busy or failed,
	// by question. Others are taken.
	People map[string]string `yaml:"people"`
	// Webhooks is what programs answer, by the name of the webhook in the menu. One
	// that is not named here does not answer.
	Webhooks map[string]WebhookAnswer `yaml:"webhooks"`
	// LanguageFirst asks a new number for its language, as USSD_LANGUAGE_FIRST does.
	LanguageFirst bool   `yaml:"languageFirst"`
	Steps         []Step `yaml:"steps"`
}

// WebhookAnswer is what a program answers, and what it must have been told.
type WebhookAnswer struct {
	// Status is 200 when it is not written; 0 is no answer in time.
	Status *int              `yaml:"status"`
	Answer map[string]string `yaml:"answer"`
	// Gets are the values that must arrive; another one is a program that fails.
	Gets map[string]string `yaml:"gets"`
}

// Step sends one request and says what must come back. Exactly one of Dial,
// Input, Text and Again is set.
type Step struct {
	// Dial opens a new session.
	Dial bool `yaml:"dial"`
	// Input is what the user types; it is added to the accumulated text.
	Input *string `yaml:"input"`
	// Text replaces the accumulated text as a whole.
	Text *string `yaml:"text"`
	// Again delivers the last request once more.
	Again bool `yaml:"again"`

	Screen   string            `yaml:"screen"`
	Answer   string            `yaml:"answer"`
	Contains string            `yaml:"contains"`
	Capture  map[string]string `yaml:"capture"`
}

// Line is what a script talks to.
type Line interface {
	// Send delivers one request and returns the answer with CON or END.
	Send(ctx context.Context, sessionID, code, phone, text string) (string, error)
	// Screen returns the name of the session's screen, or ErrNoScreens.
	Screen(ctx context.Context, sessionID string) (string, error)
}

// ErrNoScreens means that a line cannot tell screens, as a remote gateway does
// not to anybody but its operator.
var ErrNoScreens = errors.New("this gateway does not tell its screens")

// The bounds of a flow file.
const (
	maxFile  = 1 << 20
	maxFlows = 1000
	maxSteps = 1000
)

// ReadFile reads the flow file at a path.
func ReadFile(path string) (*File, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read flows: %w", err)
	}
	return Parse(path, source)
}

// Parse reads the text of a flow file. The name is for messages only.
func Parse(name string, source []byte) (*File, error) {
	if len(source) > maxFile {
		return nil, fmt.Errorf("%s: larger than 1 MiB", name)
	}
	f := &File{Phone: "+260971230001", Code: "*2233#"}
	if err := yamlfile.Unmarshal(source, f, 0, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, false))
	}
	if len(f.Flows) == 0 || len(f.Flows) > maxFlows {
		return nil, fmt.Errorf("%s: a flow file has 1 to %d flows", name, maxFlows)
	}
	for i := range f.Flows {
		flow := &f.Flows[i]
		if flow.Phone == "" {
			flow.Phone = f.Phone
		}
		if len(flow.Steps) == 0 || len(flow.Steps) > maxSteps {
			return nil, fmt.Errorf("%s: flow %q has 1 to %d steps", name, flow.Name, maxSteps)
		}
		for n, s := range flow.Steps {
			if err := s.check(); err != nil {
				return nil, fmt.Errorf("%s: flow %q, step %d: %w", name, flow.Name, n+1, err)
			}
		}
	}
	return f, nil
}

func (s *Step) check() error {
	given := 0
	for _, set := range []bool{s.Dial, s.Input != nil, s.Text != nil, s.Again} {
		if set {
			given++
		}
	}
	if given != 1 {
		return errors.New("needs one of dial, input, text and again")
	}
	for name, pattern := range s.Capture {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("capture %q: %w", name, err)
		}
	}
	return nil
}

// StepError is a step that was not answered as it should.
type StepError struct {
	Flow   string
	Step   int
	Sent   string
	Reason string
}

// Error says what was expected and what came.
func (f *StepError) Error() string {
	return fmt.Sprintf("flow %q, step %d (%s): %s", f.Flow, f.Step, f.Sent, f.Reason)
}

// Run plays one flow. It returns a *StepError for the first step that is answered
// wrongly, and any other error when the line is broken. told, when not nil, hears every answer.
func (f *File) Run(ctx context.Context, flow Flow, line Line, told func(sent, answer string)) error {
	p := player{file: f, flow: flow, line: line, values: map[string]string{}}
	for i, step := range flow.Steps {
		sent, answer, err := p.step(ctx, step)
		if told != nil && err == nil {
			told(sent, answer)
		}
		if broken, ok := errors.AsType[*lineError](err); ok {
			return fmt.Errorf("flow %q, step %d: %w", flow.Name, i+1, broken.error)
		}
		if err != nil {
			return &StepError{Flow: flow.Name, Step: i + 1, Sent: sent, Reason: err.Error()}
		}
	}
	return nil
}

// lineError is a request to which no answer came: nothing was compared.
type lineError struct{ error }

type player struct {
	file    *File
	flow    Flow
	line    Line
	session string
	text    string
	values  map[string]string
}

func (p *player) step(ctx context.Context, s Step) (sent, answer string, err error) {
	switch {
	case s.Dial:
		p.session, p.text, sent = "flow-"+rand.Text(), "", "dial"
	case s.Input != nil:
		input := p.expand(*s.Input)
		sent = "input " + input
		if p.text == "" {
			p.text = input
		} else {
			p.text += "*" + input
		}
	case s.Text != nil:
		p.text = p.expand(*s.Text)
		sent = "text " + p.text
	case s.Again:
		sent = "again"
	}
	if p.session == "" {
		p.session = "flow-" + rand.Text()
	}
	if answer, err = p.line.Send(ctx, p.session, p.file.Code, p.flow.Phone, p.text); err != nil {
		return sent, "", &lineError{err}
	}
	for name, pattern := range s.Capture {
		found := regexp.MustCompile(pattern).FindString(answer)
		if found == "" {
			return sent, answer, fmt.Errorf("nothing matches %s in %q", pattern, answer)
		}
		p.values[name] = found
	}
	return sent, answer, p.compare(ctx, s, answer)
}

func (p *player) compare(ctx context.Context, s Step, answer string) error {
	if s.Answer != "" {
		if want := strings.TrimRight(p.expand(s.Answer), "\n"); answer != want {
			return fmt.Errorf("the answer is\n%q, not\n%q", answer, want)
		}
	}
	if s.Contains != "" && !strings.Contains(answer, p.expand(s.Contains)) {
		return fmt.Errorf("the answer %q does not contain %q", answer, p.expand(s.Contains))
	}
	if s.Screen == "" {
		return nil
	}
	screen, err := p.line.Screen(ctx, p.session)
	if err != nil {
		return err
	}
	if screen != s.Screen {
		return fmt.Errorf("the screen is %q, not %q: %q", screen, s.Screen, answer)
	}
	return nil
}

// expand puts captured values in the place of ${name}.
func (p *player) expand(s string) string {
	for name, value := range p.values {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}
