// Package inquiry hands questions that documents do not answer to people.
//
// An inquiry is such a question, sent because its asker said so. The service
// promises that the staff of its collection, and nobody else, sees it; that nobody
// sees who asked unless the asker agreed; that it is answered or dismissed once,
// whoever is faster, with a record of who did; that an answer reaches the asker's
// own channel, whatever dies in between; and that neither questions nor answers nor
// askers are in clear at rest. An answer that staff choose to keep becomes a pair of
// the collection, which wins where the same is asked again. It refuses to decide who
// is staff: surfaces do, by what a token gives.
//
// Decision: ADR 0174.
package inquiry

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Bounds of inquiries.
const (
	MaxAnswer = 4000 // bytes
	maxNamed  = 120  // bytes of what an asker is called
	// MaxWaiting bounds what one asker has waiting, MaxHeld what a collection has.
	MaxWaiting = 20
	MaxHeld    = 10_000
	MaxPage    = 100
)

// Ability is what a token must give, in the folder of a collection, to whoever
// answers its inquiries.
const Ability = "knowledge/answer"

// Channel is where an asker asked, and where the answer goes.
type Channel string

// The channels.
const (
	// Web is a session of the oracle, or none: then the asker looks by themselves.
	Web Channel = "web"
	// Telephone is an account of the telephone menus.
	Telephone Channel = "telephone"
)

// State is what became of an inquiry.
type State int

// An inquiry waits, was answered or was dismissed.
const (
	Waiting State = iota
	Answered
	Dismissed
)

// String is the word that users see.
func (s State) String() string { return [...]string{"waiting", "answered", "dismissed"}[s] }

// ParseState reads the word.
func ParseState(word string) (State, bool) {
	for s := Waiting; s <= Dismissed; s++ {
		if s.String() == word {
			return s, true
		}
	}
	return 0, false
}

// Asker is who asked. Only delivery uses it, and staff see Name if Shown.
type Asker struct {
	Channel Channel `json:"channel"`
	// ID is a DID, or a telephone's account.
	ID string `json:"id"`
	// Person is the DID that the asker at the telephone is linked with: then it is
	// that person's inquiry, wherever it was asked; may be empty.
	Person string `json:"person,omitempty"`
	// Session is where on the web; may be empty.
	Session string `json:"session,omitempty"`
	// Shown says that the asker agreed to be shown to staff, as Name.
	Shown bool   `json:"shown,omitempty"`
	Name  string `json:"name,omitempty"`
}

// record is what is sealed.
type record struct {
	Text     string `json:"text"`
	Language string `json:"language,omitempty"`
	Asker    Asker  `json:"asker"`
	Answer   string `json:"answer,omitempty"`
}

// Event is who did what to an inquiry. By is empty for its asker.
type Event struct {
	At   time.Time
	By   string
	What string
}

// What happens to inquiries.
const (
	didAsk     = "asked"
	didAnswer  = "answered"
	didDismiss = "dismissed"
	didKeep    = "kept"
	didRemove  = "removed"
)

// Row is an inquiry at rest.
type Row struct {
	ID         string
	Collection knowledge.Collection
	// Asker is a pseudonym.
	Asker            string
	State            State
	Kept             bool // as a pair
	Sealed           []byte
	Created, Settled time.Time
	Events           []Event
}

// Scope is whose inquiries somebody may see: those of collections within reach, or
// all.
type Scope struct {
	knowledge.Reach
	All bool
}

// Page selects inquiries, the oldest first.
type Page struct {
	State State
	// After is the last id of the page before; empty for the first.
	After string
	Limit int
}

// Settling ends an inquiry's waiting.
type Settling struct {
	ID     string
	State  State
	Sealed []byte
	Event  Event
	// Deliver puts the answer on its way, in the same transaction.
	Deliver bool
	// Pair, when set, is kept, unless the collection has as many as it may.
	Pair     *knowledge.SealedPair
	MaxPairs int
}

// Store keeps inquiries. Changes are durable when a method returns nil.
type Store interface {
	// AddInquiry stores an inquiry; one with the same id and asker is there
	// already, which is no error. More waiting ones than may be are a Conflict.
	AddInquiry(ctx context.Context, r Row, askers []string, mostOfAsker, mostOfCollection int) error
	// Inquiry is one within scope; NotFound otherwise.
	Inquiry(ctx context.Context, s Scope, id string) (Row, error)
	// Inquiries lists a page within scope.
	Inquiries(ctx context.Context, s Scope, p Page) ([]Row, error)
	// InquiriesOf lists the newest of an asker, by pseudonyms.
	InquiriesOf(ctx context.Context, askers []string, limit int) ([]Row, error)
	// SettleInquiry changes one that waits; Conflict when it does not.
	SettleInquiry(ctx context.Context, s Settling) error
	// RenameAsker keeps an inquiry under another pseudonym.
	RenameAsker(ctx context.Context, id, asker string) error
	// RemoveInquiry forgets one, with its pair.
	RemoveInquiry(ctx context.Context, id string, e Event) error
	// WorkReplies hands the ids of answered inquiries to deliver until ctx ends, again
	// after an error.
	WorkReplies(ctx context.Context, wake <-chan struct{}, deliver func(ctx context.Context, id string) error) error
}

// Reply is an answer on its way to its asker. The id is the same however often it is
// delivered.
type Reply struct {
	ID       string
	Asker    Asker
	Question string
	Answer   string
	Language string
}

// Deliver brings replies to a channel. NotFound and Gone say that nobody is there
// any more.
type Deliver func(ctx context.Context, r Reply) error

// Deps are what a Service works with.
type Deps struct {
	Knowledge *knowledge.Service
	Store     Store
	Logger    *slog.Logger     // nil is silent
	Now       func() time.Time // nil is time.Now
}

// Service is the inquiries of a community.
type Service struct {
	deps     Deps
	wake     chan struct{}
	channels map[Channel]Deliver
}

// New returns a Service.
func New(d Deps) *Service {
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Service{deps: d, wake: make(chan struct{}, 1), channels: map[Channel]Deliver{}}
}

// Reach says how answers reach a channel. It is called before anything runs.
func (s *Service) Reach(c Channel, d Deliver) { s.channels[c] = d }

// Asking is a question that somebody wants to send.
type Asking struct {
	// ID makes sending it again the same; empty is a new one.
	ID       string
	Text     string
	Language string
	// Collection says whose staff is asked; empty is that of the nearest document.
	Collection string
	Asker      Asker
}

// Inquiry is a question as those see it who may.
type Inquiry struct {
	Row
	Text     string
	Language string
	Channel  Channel
	// From is what the asker is called, if they agreed to be shown.
	From   string
	Answer string
}

// Ask sends a question to the staff of a collection that the caller may read.
func (s *Service) Ask(ctx context.Context, who knowledge.Caller, a Asking) (Inquiry, error) {
	a.Text = strings.TrimSpace(a.Text)
	if a.Text == "" || len(a.Text) > knowledge.MaxQuery || !utf8.ValidString(a.Text) {
		return Inquiry{}, fault.Newf(fault.Invalid, "A question has 1 to %d bytes.", knowledge.MaxQuery)
	}
	if a.Asker.ID == "" {
		return Inquiry{}, fault.New(fault.Invalid, "Nobody would get the answer.")
	}
	if len(a.Asker.Name) > maxNamed || !utf8.ValidString(a.Asker.Name) {
		return Inquiry{}, fault.Newf(fault.Invalid, "A name has at most %d bytes.", maxNamed)
	}
	if !a.Asker.Shown {
		a.Asker.Name = "" // it is not even kept
	}
	if posing(a.Asker) {
		return Inquiry{}, fault.New(fault.Invalid, "A name is what you are called: no DID, and nothing that cannot be seen.")
	}
	c, err := s.responsible(ctx, who, a)
	if err != nil {
		return Inquiry{}, err
	}
	if a.ID == "" {
		a.ID = knowledge.NewID()
	}
	now := s.deps.Now()
	kept := record{Text: a.Text, Language: a.Language, Asker: a.Asker}
	sealed, err := s.seal(c, a.ID, kept)
	if err != nil {
		return Inquiry{}, err
	}
	askers, err := s.deps.Knowledge.Pseudonyms(ctx, nameOf(a.Asker))
	if err != nil {
		return Inquiry{}, err
	}
	r := Row{
		ID: a.ID, Collection: c, Asker: askers[0], Sealed: sealed, Created: now, Events: []Event{{At: now, What: didAsk}},
	}
	if err := s.deps.Store.AddInquiry(ctx, r, askers, MaxWaiting, MaxHeld); err != nil {
		return Inquiry{}, err
	}
	return show(r, kept), nil
}

// posing reports a name that staff would take for somebody's DID, which is proved where
// it is shown, or that is not what they see.
func posing(a Asker) bool {
	misleads := func(r rune) bool { // joiners do not: names in several scripts need them
		return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}
	folded := strings.ToLower(norm.NFKC.String(a.Name))
	return a.Name != a.ID && (strings.Contains(folded, "did:") || strings.ContainsFunc(a.Name, misleads))
}

// nameOf tells askers of different channels apart, unless they are one person.
func nameOf(a Asker) string {
	if a.Person != "" {
		return string(Web) + "\x00" + a.Person
	}
	return string(a.Channel) + "\x00" + a.ID
}

// responsible chooses the collection whose staff is asked: the one that was named,
// or the one with the nearest document.
func (s *Service) responsible(ctx context.Context, who knowledge.Caller, a Asking) (knowledge.Collection, error) {
	readable, err := s.deps.Knowledge.Readable(ctx, who)
	if err != nil {
		return knowledge.Collection{}, err
	}
	wanted := a.Collection
	if wanted == "" && len(readable) > 1 {
		found, err := s.deps.Knowledge.Search(ctx, who, knowledge.Question{Text: a.Text, Language: a.Language, Limit: 1})
		if err != nil {
			return knowledge.Collection{}, err
		}
		if len(found.Hits) > 0 {
			wanted = found.Hits[0].Collection
		}
	}
	for _, c := range readable {
		if wanted == "" || c.ID == wanted {
			return c, nil
		}
	}
	return knowledge.Collection{}, fault.New(fault.NotFound, "There is no collection whose people could be asked.")
}

func sealedName(id string) string { return "inquiry\x00" + id }

func (s *Service) seal(c knowledge.Collection, id string, r record) ([]byte, error) {
	plain, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode inquiry: %w", err)
	}
	return s.deps.Knowledge.SealText(c, sealedName(id), plain)
}

func (s *Service) open(r Row) (record, error) {
	plain, err := s.deps.Knowledge.OpenText(r.Collection, sealedName(r.ID), r.Sealed)
	if err != nil {
		return record{}, fmt.Errorf("open inquiry: %w", err)
	}
	var out record
	if err := json.Unmarshal(plain, &out); err != nil {
		return record{}, fmt.Errorf("decode inquiry: %w", err)
	}
	return out, nil
}

// show leaves out who asked, unless they agreed.
func show(r Row, in record) Inquiry {
	out := Inquiry{Row: r, Text: in.Text, Language: in.Language, Channel: in.Asker.Channel, Answer: in.Answer}
	if in.Asker.Shown {
		out.From = in.Asker.Name
	}
	return out
}

func (s *Service) showAll(rows []Row) ([]Inquiry, error) {
	out := make([]Inquiry, 0, len(rows))
	for _, r := range rows {
		in, err := s.open(r)
		if err != nil {
			return nil, err
		}
		out = append(out, show(r, in))
	}
	return out, nil
}

// List is a page of the inquiries of a scope.
func (s *Service) List(ctx context.Context, scope Scope, p Page) ([]Inquiry, error) {
	if p.Limit <= 0 || p.Limit > MaxPage {
		p.Limit = MaxPage
	}
	rows, err := s.deps.Store.Inquiries(ctx, scope, p)
	if err != nil {
		return nil, err
	}
	return s.showAll(rows)
}

// Mine lists what an asker has asked, the newest first, with the answers.
func (s *Service) Mine(ctx context.Context, a Asker) ([]Inquiry, error) {
	rows, err := s.deps.Store.InquiriesOf(ctx, s.deps.Knowledge.KnownPseudonyms(nameOf(a)), MaxPage)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		rows[i].Events = nil // who of the staff answered is the staff's
	}
	return s.showAll(rows)
}
