package ussdmenu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// Text is one text in every language of the menu.
type Text map[string]string

// Source is a menu as its file has it. Parse reads it; the Menu made of it is
// what runs.
type Source struct {
	Name string `yaml:"name"`
	// Codes are the service codes that the menu is for, Include the shared parts that
	// belong to it, and Shared the name of such a part: package ussdbook reads them.
	Codes     []string            `yaml:"codes"`
	Include   []string            `yaml:"include"`
	Shared    string              `yaml:"shared"`
	Languages []string            `yaml:"languages"`
	Start     string              `yaml:"start"`
	Exit      string              `yaml:"exit"`
	Resume    string              `yaml:"resume"`
	Login     string              `yaml:"login"`
	Language  string              `yaml:"language"`
	Labels    Labels              `yaml:"labels"`
	Keys      Keys                `yaml:"keys"`
	Variables map[string]Variable `yaml:"variables"`
	Screens   map[string]*Screen  `yaml:"screens"`
	Actions   map[string]*Action  `yaml:"actions"`
	// Forms are what callers send, by name.
	Forms map[string]ussdform.Form `yaml:"forms"`
	// Lists are what rows are read from, by name.
	Lists map[string]ussdlist.List `yaml:"lists"`
	// Webhooks are the programs that actions call, by name.
	Webhooks map[string]ussdhook.Hook `yaml:"webhooks"`
}

// Labels are the texts that the machine itself writes.
type Labels struct {
	Back     Text `yaml:"back"`
	Exit     Text `yaml:"exit"`
	Next     Text `yaml:"next"`
	Previous Text `yaml:"previous"`
	Invalid  Text `yaml:"invalid"`
}

// Keys are the inputs that mean the same on every screen.
type Keys struct {
	Back     string `yaml:"back"`
	Exit     string `yaml:"exit"`
	Next     string `yaml:"next"`
	Previous string `yaml:"previous"`
}

// Variable declares a value that texts may name: how long it can get on the
// screen, and in which alphabet.
type Variable struct {
	// Max is the most septets (UCS-2 units, where the value needs them) that it takes.
	Max int `yaml:"max"`
	// Charset is one of the Charset words; empty is gsm.
	Charset string `yaml:"charset"`
	// Lines keeps line breaks in the value.
	Lines bool `yaml:"lines"`
	// Rows keeps each line on one page.
	Rows bool `yaml:"rows"`
}

// The alphabets of a variable.
const (
	CharsetGSM  = "gsm"  // transliterated; what the GSM alphabet lacks is a question mark
	CharsetAuto = "auto" // transliterated where nothing is lost, else as it is, in UCS-2
	CharsetAny  = "any"  // as it is
)

// Screen is what a user sees and may answer.
type Screen struct {
	// State is the name that operators see; the screen's id when empty.
	State   string   `yaml:"state"`
	Text    Text     `yaml:"text"`
	Options []Option `yaml:"options"`
	Input   *Input   `yaml:"input"`
	// Back, when set, adds the back key with this target.
	Back Next `yaml:"back"`
	// CanExit adds the exit key.
	CanExit bool `yaml:"exit"`
	Paged   bool `yaml:"paged"`
	End     bool `yaml:"end"`
	// Private screens are shown to authenticated users only; a session that
	// lost its login is sent to the start.
	Private bool `yaml:"private"`

	id       string
	texts    map[string]template
	consults Facts
}

// ID returns the screen's name.
func (s *Screen) ID() string { return s.id }

// Option is one numbered line.
type Option struct {
	Key    string `yaml:"key"`
	Label  Text   `yaml:"label"`
	When   Guard  `yaml:"when"`
	Next   Next   `yaml:"next"`
	Hidden bool   `yaml:"hidden"`
	// Set stores constant values in variables when the option is taken.
	Set map[string]string `yaml:"set"`

	labels map[string]template
}

// Input is a free entry with its validation.
type Input struct {
	Var  string `yaml:"var"`
	Kind string `yaml:"kind"`
	Min  int    `yaml:"min"`
	Max  int    `yaml:"max"`
	// Skip is a key that leaves the value empty.
	Skip   string          `yaml:"skip"`
	Errors map[string]Text `yaml:"errors"`
	Next   Next            `yaml:"next"`
}

// Secret reports whether the value must never be stored or logged.
func (in *Input) Secret() bool { return in.Kind == KindPIN || in.Kind == KindNewPIN }

// Action runs a registered function between two screens.
type Action struct {
	Run     string          `yaml:"run"`
	Form    string          `yaml:"form"`    // what storeForm keeps
	List    string          `yaml:"list"`    // what readList reads
	Webhook string          `yaml:"webhook"` // what callWebhook calls
	State   string          `yaml:"state"`
	On      map[string]Next `yaml:"on"`

	id string
}

// Next is where to go: the first target whose guard holds.
type Next []Target

// Target is one way on. To is a screen, an action, or one of the words :start,
// :exit, :same and :resume.
type Target struct {
	When   Guard  `yaml:"when"`
	To     string `yaml:"to"`
	Notice Text   `yaml:"notice"`
}

// The targets that are not the name of a screen or an action.
const (
	ToStart  = ":start"
	ToExit   = ":exit"
	ToSame   = ":same"
	ToResume = ":resume"
)

// UnmarshalYAML reads `next: screen`, one target, or a list of guarded targets.
func (n *Next) UnmarshalYAML(decode func(any) error) error {
	var name string
	if decode(&name) == nil {
		*n = Next{{To: name}}
		return nil
	}
	var one Target
	if oneErr := decode(&one); oneErr == nil {
		*n = Next{one}
		return nil
	}
	var list []Target
	if err := decode(&list); err != nil {
		return err
	}
	*n = list
	return nil
}

// Facts are the flags that guards ask for.
type Facts uint16

// What is known about a session when an input arrives.
const (
	Authenticated Facts = 1 << iota
	HasAccount          // the telephone belongs to exactly one account
	Oracle              // the oracle service runs, and a model answers
	Query               // the query service runs
	AnswerWaiting       // an answer of the oracle has not been shown yet
	Resuming            // an earlier session of the telephone can be continued
	Guide               // the oracle service runs, and only the built-in guide answers
	Knowledge           // there are documents that answer everybody
	Several             // the telephone belongs to several accounts
	Linked              // the account is the same person as a DID
	Approval            // what was just read out waits for the caller's approval
	KeyAsked            // a new key in the place of a lost one was asked for, and waits
)

type factName struct {
	name string
	fact Facts
}

var factNames = []factName{
	{"authenticated", Authenticated},
	{"has_account", HasAccount},
	{"oracle", Oracle},
	{"query", Query},
	{"answer_waiting", AnswerWaiting},
	{"resuming", Resuming},
	{"guide", Guide},
	{"knowledge", Knowledge},
	{"has_accounts", Several},
	{"linked", Linked},
	{"approval", Approval},
	{"key_asked", KeyAsked},
}

// FactsOf returns the facts of the names, or the first name that is none.
func FactsOf(names []string) (all Facts, unknown string) {
	for _, name := range names {
		i := slices.IndexFunc(factNames, func(f factName) bool { return f.name == name })
		if i < 0 {
			return 0, name
		}
		all |= factNames[i].fact
	}
	return all, ""
}

// Names lists the names of the facts.
func (f Facts) Names() []string {
	names := []string{}
	for _, known := range factNames {
		if f&known.fact != 0 {
			names = append(names, known.name)
		}
	}
	return names
}

// Guard is a conjunction of facts, each plain or with ! in front.
type Guard struct {
	must, not Facts
	unknown   string
}

// UnmarshalYAML reads a guard: words separated by spaces or commas.
func (g *Guard) UnmarshalYAML(decode func(any) error) error {
	var words string
	if err := decode(&words); err != nil {
		return err
	}
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return r == ' ' || r == ',' }) {
		name, negated := strings.CutPrefix(word, "!")
		known := false
		for _, f := range factNames {
			if f.name != name {
				continue
			}
			known = true
			if negated {
				g.not |= f.fact
			} else {
				g.must |= f.fact
			}
		}
		if !known {
			g.unknown = word
		}
	}
	return nil
}

// Holds reports whether the guard lets the facts pass.
func (g Guard) Holds(f Facts) bool { return f&g.must == g.must && f&g.not == 0 }

// Always reports whether the guard lets everything pass.
func (g Guard) Always() bool { return g.must == 0 && g.not == 0 }

// String writes the guard as its file has it.
func (g Guard) String() string {
	var words []string
	for _, f := range factNames {
		if g.must&f.fact != 0 {
			words = append(words, f.name)
		}
		if g.not&f.fact != 0 {
			words = append(words, "!"+f.name)
		}
	}
	return strings.Join(words, " ")
}

// pick returns the first target whose guard holds.
func (n Next) pick(f Facts) (Target, bool) {
	for _, t := range n {
		if t.When.Holds(f) {
			return t, true
		}
	}
	return Target{}, false
}

// ActionSpec is what the checker must know of a registered action.
type ActionSpec struct {
	// Outcomes are all the words that the action may answer with.
	Outcomes []string
	// Sets names the variables that the action fills.
	Sets []string
	// Form says that the action keeps a form, which it must name.
	Form bool
	// List says that the action reads a list, which it must name.
	List bool
	// Row says that the action takes a row of the list, which was shown with numbers.
	Row bool
	// Webhook says that the action calls a webhook, which it must name.
	Webhook bool
}

// Menu is a checked menu, ready to run. It does not change.
type Menu struct {
	name      string
	version   string
	languages []string
	source    []byte
	src       *Source
	labels    struct{ back, exit, next, previous, invalid map[string]string }
}

// Name returns the menu's title.
func (m *Menu) Name() string { return m.name }

// Version identifies the menu by its content.
func (m *Menu) Version() string { return m.version }

// Source returns the YAML that the menu was made of.
func (m *Menu) Source() []byte { return m.source }

// Languages lists the menu's languages, the default first.
func (m *Menu) Languages() []string { return m.languages }

// Codes lists the service codes that the menu is for; none are all others.
func (m *Menu) Codes() []string { return m.src.Codes }

// Start returns the id of the first screen.
func (m *Menu) Start() string { return m.src.Start }

// ResumeScreen returns the id of the screen that offers to continue, or "".
func (m *Menu) ResumeScreen() string { return m.src.Resume }

// LoginScreen returns the id of the screen where a login begins, or "".
func (m *Menu) LoginScreen() string { return m.src.Login }

// LanguageScreen returns the id of the screen that asks a new telephone for its
// language, or "".
func (m *Menu) LanguageScreen() string { return m.src.Language }

// Exit returns the id of the screen that ends a session.
func (m *Menu) Exit() string { return m.src.Exit }

// Has reports whether the menu has the screen.
func (m *Menu) Has(screen string) bool { return m.src.Screens[screen] != nil }

// StateName returns the name that operators see for a screen.
func (m *Menu) StateName(screen string) string {
	s := m.src.Screens[screen]
	if s == nil || s.State == "" {
		return screen
	}
	return s.State
}

// Consults returns the facts that the screen's guards look at. A caller may look
// up the others later.
func (m *Menu) Consults(screen string) Facts {
	if s := m.src.Screens[screen]; s != nil {
		return s.consults
	}
	return 0
}

// Language returns lang when the menu has it, else the default language.
func (m *Menu) Language(lang string) string {
	if slices.Contains(m.languages, lang) {
		return lang
	}
	return m.languages[0]
}

// String names the menu for logs.
func (m *Menu) String() string { return fmt.Sprintf("%s@%s", m.name, m.version) }
