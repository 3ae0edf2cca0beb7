package ussd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// AskOracle answers a question of a telephone user. It may take long: the
// context says how long the caller waits.
type AskOracle interface {
	Ask(ctx context.Context, q Question) (string, error)
}

// LookUp finds an entity of the protocol and describes it in a few lines. It
// returns a fault.NotFound when there is none.
type LookUp interface {
	LookUpEntity(ctx context.Context, id string) (string, error)
}

// Observer is told what happens, for metrics. It must not block.
type Observer interface {
	// Hop is one answered request: which dialect, the screen shown, how it came
	// about (moved, replayed, refused, failed) and how long it took.
	Hop(dialect, screen, result string, took time.Duration)
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

// Config is how the service behaves. Keys is required; every other field has a
// useful zero value.
type Config struct {
	Keys *ussdpin.Keys
	// Menu is what new sessions begin on; nil is the built-in one.
	Menu *ussdmenu.Menu
	// Limits are what the networks show of a screen.
	Limits ussdmenu.Limits
	// TTL is how long an idle session lives; 0 is 180 s.
	TTL time.Duration
	// ResumeWindow, when positive, is how long after its last use a session is
	// offered to the same telephone that dials again.
	ResumeWindow time.Duration
	// Deadline is how long one request may take; 0 is 7.5 s.
	Deadline time.Duration
	// OracleWait is how long a user waits for an answer before it is promised;
	// 0 is 5 s.
	OracleWait time.Duration
	// PINCost is the price of a slow hash, PINSlots how many run at once (0 is
	// half the processors).
	PINCost  ussdpin.Cost
	PINSlots int
	// AccountsPerPhone bounds accounts of one telephone; 0 is 5.
	AccountsPerPhone int
	// Desk is how many sessions stay in memory; 0 is 8192.
	Desk int

	Oracle AskOracle // nil hides the menu item
	// GuideOnly says that no model answers, only the built-in guide, which knows
	// nothing that callers ask for: menus tell the two apart.
	GuideOnly bool
	LookUp    LookUp // nil hides the menu item
	Observer  Observer
	Logger    *slog.Logger
	// Now is the clock; tests make it jump.
	Now func() time.Time
}

func (c *Config) fill() error {
	if c.Keys == nil {
		return errors.New("ussd: PIN_ENCRYPTION_KEY is missing")
	}
	if c.Menu == nil {
		m, err := DefaultMenu()
		if err != nil {
			return err
		}
		c.Menu = m
	}
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.TTL, 180*time.Second)
	def(&c.Deadline, 7500*time.Millisecond)
	def(&c.OracleWait, 5*time.Second)
	if c.PINSlots <= 0 {
		c.PINSlots = max(1, runtime.GOMAXPROCS(0)/2)
	}
	if c.AccountsPerPhone <= 0 {
		c.AccountsPerPhone = 5
	}
	if c.Desk <= 0 {
		c.Desk = 8192
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
func (silent) Expired(int)                               {}
func (silent) Locked()                                   {}

// Service answers gateways.
type Service struct {
	cfg    Config
	store  Store
	desk   *desk
	menus  *menuShelf
	vault  *ussdpin.Vault
	phones *phoneFilter
	tally  *tally
	facts  ussdmenu.Facts // what is true for every session
	wake   chan struct{}  // tells the answer worker of a new question
}

// New returns a service on the store.
func New(store Store, cfg Config) (*Service, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, store: store,
		desk:   newDesk(cfg.Desk),
		menus:  newMenuShelf(store, cfg.Menu),
		vault:  ussdpin.NewVault(cfg.Keys, cfg.PINCost, cfg.PINSlots),
		phones: newPhoneFilter(),
		tally:  newTally(),
		wake:   make(chan struct{}, 1),
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
	s.cfg.Observer.Hop(req.Dialect, screen, result, time.Since(start))
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
	if req.met, err = s.desk.enter(ctx, id); err != nil {
		return Answer{}, "", "", fmt.Errorf("wait for session: %w", err)
	}
	defer s.desk.leave(id)
	for tries := 0; tries < maxTries; {
		cur, hint, err := s.load(ctx, id, &req)
		if err != nil {
			return Answer{}, "", "", err
		}
		h := &hop{svc: s, req: &req, id: id, cur: cur, hint: hint, now: s.cfg.Now()}
		done, err := h.run(ctx)
		if errors.Is(err, ErrRecount) {
			if err := h.recount(ctx); err != nil {
				return Answer{}, "", "", err
			}
			s.desk.drop(id)
			tries++
			continue
		}
		if errors.Is(err, ErrStale) {
			s.desk.drop(id)
			req.guessed = nil
			// Who loses on what the store said a moment ago was raced.
			if !hint {
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
			s.desk.drop(id)
			return Answer{}, "", "", err
		}
		if !done {
			if err := h.pause(ctx); err != nil {
				return Answer{}, "", "", err
			}
			s.desk.drop(id)
			req.met = true
			continue
		}
		return h.answer, h.screen, h.result, nil
	}
	// Only a store that contradicts itself comes here.
	return Answer{}, "", "", fault.New(fault.Unavailable, "The session is busy.")
}

// load returns the session as far as it is known: from the desk, which is a
// hint, else from the store. A first dial is tried without looking: the commit
// finds out. Where nothing numbers the inputs a hint is of no use: whoever loses
// must know whether another node was at the same input, or an earlier one.
func (s *Service) load(ctx context.Context, id string, req *Request) (found *Session, hint bool, err error) {
	if known := s.desk.get(id); known != nil && !req.numberless() {
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

// Reload makes m the menu of new sessions; live ones finish on theirs.
func (s *Service) Reload(m *ussdmenu.Menu) { s.menus.swap(m) }

// Menu returns the menu of new sessions.
func (s *Service) Menu() *ussdmenu.Menu { return s.menus.peek() }

// Deadline is how long one request may take.
func (s *Service) Deadline() time.Duration { return s.cfg.Deadline }
