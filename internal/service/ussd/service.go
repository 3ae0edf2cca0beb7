package ussd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmemory"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
)

// LookUp finds an entity of the protocol and describes it in a few lines. It
// returns a fault.NotFound when there is none.
type LookUp interface {
	LookUpEntity(ctx context.Context, id string) (string, error)
}

// AskKnowledge answers from documents that the caller may read.
type AskKnowledge interface {
	// AskDocuments returns what a telephone shows: the sentences that answer and
	// their source, or, when known is false, what comes nearest. The account is who
	// asks, or "".
	AskDocuments(ctx context.Context, account, question, language string) (text string, known bool, err error)
	// AskPeople sends a question that no document answers to people. Sent twice it is
	// sent once. A fault.Conflict says that enough of the account's wait already.
	AskPeople(ctx context.Context, q PeopleQuestion) error
	// Offered reports whether there are such documents. It is asked on every hop,
	// and answers from memory.
	Offered(ctx context.Context) bool
}

// PeopleQuestion is a question for people, sent because its asker said so.
type PeopleQuestion struct {
	ID, Account, Text, Language string
	// Name is what staff see of the asker; empty unless the asker agreed.
	Name string
}

// Observer is told what happens, for metrics. It must not block.
type Observer interface {
	// Hop is one answered request: which dialect, the screen shown, how it came
	// about (moved, replayed, refused, failed) and how long it took.
	Hop(dialect, screen, result string, took time.Duration)
	// Refused is a request whose field broke a rule.
	Refused(dialect, field string)
	// Expired sessions were swept while they were still active.
	Expired(n int)
	// Locked means that an account was locked after wrong PINs.
	Locked()
}

// The results that an Observer hears of.
const (
	ResultMoved    = "moved"
	ResultReplayed = "replayed"
	ResultRefused  = "refused"
	ResultFailed   = "failed"
)

// AccountsPerPhone is how many accounts one telephone has, unless a Config says
// otherwise.
const AccountsPerPhone = 5

// Config is how the service behaves. Keys is required; every other field has a
// useful zero value.
type Config struct {
	Keys *ussdpin.Keys
	// Menus are what new sessions begin on, by service code; nil is the built-in one.
	Menus *ussdbook.Book
	// Limits are what the networks show of a screen.
	Limits ussdmenu.Limits
	// TTL is how long an idle session lives; 0 is 180 s.
	TTL time.Duration
	// ResumeWindow, when positive, is how long after its last use a session is
	// offered to the same telephone that dials again.
	ResumeWindow time.Duration
	// LanguageFirst asks a telephone whose language is not known for it, before
	// anything else, where the menu has a screen for that.
	LanguageFirst bool
	// Deadline is how long one request may take; 0 is 7.5 s.
	Deadline time.Duration
	// OracleWait is how long a user waits for an answer before it is promised;
	// 0 is 5 s.
	OracleWait time.Duration
	// NewKeyWait is how long a request for a new key waits before operators may approve it:
	// whoever still has the old key has so long to refuse it.
	NewKeyWait time.Duration
	// PINCost is the price of a slow hash, PINSlots how many run at once (0 is
	// half the processors).
	PINCost  ussdpin.Cost
	PINSlots int
	// AccountsPerPhone bounds accounts of one telephone; 0 is 5.
	AccountsPerPhone int
	// Dialects names those that are written as data.
	Dialects []string
	// InMemory is how many sessions stay in memory; 0 is 8192.
	InMemory int

	Oracle ussdquestion.Oracle // nil hides the menu item
	// Approvals takes what askers decide; nil leaves it to other ways.
	Approvals ussdquestion.Approvals
	// GuideOnly says that no model answers, only the built-in guide, which knows
	// nothing that callers ask for: menus tell the two apart.
	GuideOnly bool
	LookUp    LookUp // nil hides the menu item
	// Lists are what menus read rows from; nil has none.
	Lists ussdlist.Reader
	// Webhooks calls the programs that menus name; nil calls none.
	Webhooks ussdhook.Programs
	// Knowledge is the documents; nil hides the menu item.
	Knowledge AskKnowledge
	Observer  Observer
	Quiet     *quiet.Watch // spares looks for new telephones while nothing changes; nil spares none
	Logger    *slog.Logger
	// Now is the clock; tests make it jump.
	Now func() time.Time
}

func (c *Config) fill() error {
	if c.Keys == nil {
		return errors.New("ussd: PIN_ENCRYPTION_KEY is missing")
	}
	if c.Menus == nil {
		m, err := DefaultMenu()
		if err != nil {
			return err
		}
		c.Menus = ussdbook.Of(m)
	}
	c.TTL = cmp.Or(max(c.TTL, 0), 180*time.Second)
	c.Deadline = cmp.Or(max(c.Deadline, 0), 7500*time.Millisecond)
	c.OracleWait = cmp.Or(max(c.OracleWait, 0), 5*time.Second)
	if c.PINSlots <= 0 {
		c.PINSlots = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if c.AccountsPerPhone <= 0 {
		c.AccountsPerPhone = AccountsPerPhone
	}
	if c.InMemory <= 0 {
		c.InMemory = 8192
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

type silent struct{}

func (silent) Hop(string, string, string, time.Duration) {}
func (silent) Refused(string, string)                    {}
func (silent) Expired(int)                               {}
func (silent) Locked()                                   {}

// Service answers gateways.
type Service struct {
	cfg    Config
	store  Store
	memory *ussdmemory.Sessions[Session]
	menus  *ussdbook.Shelf
	vault  *ussdpin.Vault
	phones *ussdmemory.PhoneFilter
	tally  *ussdmemory.Tally[ussdcount.Count]
	facts  ussdmenu.Facts // what is true for every session, always
	asker  *ussdquestion.Asker
}

// New returns a service on the store.
func New(store Store, cfg Config) (*Service, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, store: store,
		memory: ussdmemory.NewSessions[Session](cfg.InMemory),
		menus:  ussdbook.NewShelf(store, cfg.Menus, storedMenu),
		vault:  ussdpin.NewVault(cfg.Keys, cfg.PINCost, cfg.PINSlots),
		phones: ussdmemory.NewPhoneFilter(),
		tally:  ussdmemory.NewTally[ussdcount.Count](),
		asker:  ussdquestion.NewAsker(cfg.Oracle, store, cfg.Logger, cfg.Now),
	}
	switch {
	case cfg.Oracle != nil && cfg.GuideOnly:
		s.facts |= ussdmenu.Guide
	case cfg.Oracle != nil:
		s.facts |= ussdmenu.Oracle
	}
	if cfg.LookUp != nil {
		s.facts |= ussdmenu.Query
	}
	return s, nil
}

// standing are the facts that are true for every session now.
func (s *Service) standing(ctx context.Context) ussdmenu.Facts {
	if s.cfg.Knowledge != nil && s.cfg.Knowledge.Offered(ctx) {
		return s.facts | ussdmenu.Knowledge
	}
	return s.facts
}

// Handle answers one request of a gateway. It returns ErrInvalid for a request
// that breaks the rules, and any other error when there is no answer now; the
// gateway may then send the same request again.
func (s *Service) Handle(ctx context.Context, req Request) (Answer, error) {
	start := time.Now()
	answer, screen, result, err := s.handle(ctx, req)
	switch {
	case fault.Is(err, fault.Invalid):
		result = ResultRefused
	case err != nil:
		result = ResultFailed
	}
	took := time.Since(start)
	s.cfg.Observer.Hop(req.Dialect, screen, result, took)
	s.tally.Add(ussdcount.Took(req.Dialect, result, took))
	return answer, err
}

// maxTries bounds how often a request that lost a race looks again.
const maxTries = 20

func (s *Service) handle(ctx context.Context, req Request) (_ Answer, screen, result string, err error) {
	if err := req.Validate(); err != nil {
		return Answer{}, "", "", err
	}
	req.arrived = s.cfg.Now()
	id := req.key()
	if req.met, err = s.memory.Enter(ctx, id); err != nil {
		return Answer{}, "", "", fmt.Errorf("wait for session: %w", err)
	}
	defer s.memory.Leave(id)
	for tries := 0; tries < maxTries; {
		cur, remembered, err := s.load(ctx, id, &req)
		if err != nil {
			return Answer{}, "", "", err
		}
		h := &hop{svc: s, req: &req, id: id, cur: cur, remembered: remembered, now: s.cfg.Now(), standing: s.standing(ctx)}
		done, err := h.run(ctx)
		if errors.Is(err, ErrRecount) {
			if err := h.recount(ctx); err != nil {
				return Answer{}, "", "", err
			}
			s.memory.Drop(id)
			tries++
			continue
		}
		if errors.Is(err, ErrStale) {
			s.memory.Drop(id)
			req.guessed = nil
			// Whoever loses on what the store said a moment ago was raced.
			if !remembered {
				req.met, req.lost = true, &Prior{}
				if cur != nil {
					req.lost = &Prior{Rev: cur.Rev, Hop: cur.Hop}
				}
			}
			tries++
			continue
		}
		if err != nil {
			// What the store holds now is not known: ask it next time.
			s.memory.Drop(id)
			return Answer{}, "", "", err
		}
		if !done {
			if err := h.pause(ctx); err != nil {
				return Answer{}, "", "", err
			}
			s.memory.Drop(id)
			req.met = true
			continue
		}
		return h.answer, h.screen, h.result, nil
	}
	// Only a store that contradicts itself comes here.
	return Answer{}, "", "", fault.New(fault.Unavailable, "The session is busy.")
}

// load returns the session as far as it is known: from memory, which may
// be behind, else from the store. A first dial is tried without looking: the commit
// finds out. Where nothing numbers the inputs memory is of no use: whoever loses
// must know whether another node was at the same input, or an earlier one.
func (s *Service) load(ctx context.Context, id string, req *Request) (found *Session, remembered bool, err error) {
	if known := s.memory.Get(id); known != nil && !req.numberless() {
		return known, true, nil
	}
	if req.fresh() && !req.looked {
		req.looked = true
		return nil, true, nil
	}
	found, err = s.store.Session(ctx, id)
	if errors.Is(err, ErrNoSession) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("load session: %w", err)
	}
	return found, false, nil
}

// Reload makes b the menus of new sessions; live ones finish on theirs.
func (s *Service) Reload(b *ussdbook.Book) { s.menus.Swap(b) }

// Menu returns the menu of new sessions of codes that have none of their own.
func (s *Service) Menu() *ussdmenu.Menu { return s.menus.Book().Default() }

// Deadline is how long one request may take.
func (s *Service) Deadline() time.Duration { return s.cfg.Deadline }
