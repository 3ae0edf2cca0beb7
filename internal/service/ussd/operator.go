package ussd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// maxListed bounds the list of active sessions.
const maxListed = 10_000

// View is a session as an operator sees it. It contains the telephone number and
// the last menu text in clear, and no secret.
type View struct {
	SessionID     string    `json:"sessionId"`
	Phone         string    `json:"phoneNumber"`
	ServiceCode   string    `json:"serviceCode"`
	Dialect       string    `json:"dialect,omitempty"`
	State         string    `json:"state"`
	Screen        string    `json:"screen"`
	Status        string    `json:"status"`
	Message       string    `json:"message"`
	Authenticated bool      `json:"isAuthenticated"`
	Account       string    `json:"account,omitempty"`
	Language      string    `json:"language"`
	Menu          string    `json:"menu"`
	Hops          int64     `json:"hops"`
	Created       time.Time `json:"createdAt"`
	Updated       time.Time `json:"updatedAt"`
	Expires       time.Time `json:"expiresAt"`
	Timeline      []Event   `json:"timeline,omitempty"`

	// Masked is the message with stars for what is the caller's own.
	Masked string `json:"-"`
}

// Event is one hop of a session's timeline, its input masked.
type Event struct {
	At     time.Time `json:"at"`
	Input  string    `json:"input"`
	Screen string    `json:"screen"`
	State  string    `json:"state"`
}

// Look returns a session that has not expired, with its timeline, or
// ErrNoSession. The id is the gateway's own or, for a dialect, "dialect:id".
func (s *Service) Look(ctx context.Context, id string) (View, error) {
	for _, key := range s.lookKeys(id) {
		found, err := s.store.Session(ctx, key)
		if errors.Is(err, ErrNoSession) || err == nil && !found.alive(s.cfg.Now(), s.cfg.TTL) {
			continue
		}
		if err != nil {
			return View{}, fmt.Errorf("load session: %w", err)
		}
		m, err := s.menus.Version(ctx, found.Menu)
		if errors.Is(err, ErrNoMenu) {
			m = s.Menu()
		} else if err != nil {
			return View{}, err
		}
		v := s.view(found, m)
		for _, c := range found.Memory.Trail {
			v.Timeline = append(v.Timeline, Event{
				At: time.UnixMilli(c.At).UTC(), Input: c.Input, Screen: c.Screen, State: m.StateName(c.Screen),
			})
		}
		return v, nil
	}
	return View{}, ErrNoSession
}

// lookKeys lists the stored ids that an operator's id may mean.
func (s *Service) lookKeys(id string) []string {
	keys, dialects := []string{id}, append(Dialects(), s.cfg.Dialects...)
	if dialect, rest, ok := strings.Cut(id, ":"); ok && slices.Contains(dialects, dialect) {
		keys = append(keys, sessionKey(dialect, rest))
	}
	for _, dialect := range dialects {
		keys = append(keys, sessionKey(dialect, id))
	}
	return keys
}

// Dialects names the adapters that are code, besides the session endpoint itself.
func Dialects() []string {
	return []string{DialectAfricasTalking, DialectHubtel, DialectInfobip, DialectArkesel, DialectNalo}
}

// The adapters.
const (
	DialectAfricasTalking = "africastalking"
	DialectHubtel         = "hubtel"
	DialectInfobip        = "infobip"
	DialectArkesel        = "arkesel"
	DialectNalo           = "nalo"
)

func (s *Service) view(one *Session, m *ussdmenu.Menu) View {
	return View{
		SessionID: ShownID(one.ID), Phone: one.Phone, ServiceCode: ussdnumber.KeptCode(one.ServiceCode), Dialect: one.Dialect,
		State: m.StateName(one.screen()), Screen: one.screen(), Status: one.Status.String(), Message: one.Answer,
		Authenticated: one.Account != "", Account: one.Account, Language: one.State.Lang, Menu: one.Menu, Hops: one.Hop,
		Created: one.Created, Updated: one.Updated, Expires: one.Expires, Masked: s.masked(one, m),
	}
}

// masked renders the session's screen with stars for what callers said and what
// was looked up for them: names, accounts, answers.
func (s *Service) masked(one *Session, m *ussdmenu.Menu) string {
	st := one.State
	st.Vars = make(map[string]string, len(one.State.Vars))
	for name, value := range one.State.Vars {
		if value != "" {
			st.Vars[name] = "***"
		}
	}
	if len(st.Vars) == 0 {
		return one.Answer // nothing of it is the caller's
	}
	text, _ := m.Render(st, s.facts|one.facts())
	return text
}

// Active lists the ids of active sessions and how many there are in all.
func (s *Service) Active(ctx context.Context) (ids []string, total int, err error) {
	keys, total, err := s.store.Active(ctx, s.cfg.Now(), maxListed)
	if err != nil {
		return nil, 0, fmt.Errorf("list sessions: %w", err)
	}
	ids = make([]string, len(keys))
	for i, k := range keys {
		ids[i] = ShownID(k)
	}
	return ids, total, nil
}

// Live returns the sessions that were used last.
func (s *Service) Live(ctx context.Context, limit int) ([]View, error) {
	found, err := s.store.Recent(ctx, s.cfg.Now(), min(max(limit, 1), 500))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	out := make([]View, 0, len(found))
	for _, one := range found {
		m, err := s.menus.Version(ctx, one.Menu)
		if err != nil {
			m = s.Menu()
		}
		out = append(out, s.view(one, m))
	}
	return out, nil
}

// MenuEntries lists the present menus with the service codes that lead to each.
func (s *Service) MenuEntries() []ussdbook.Entry { return s.menus.Book().Entries() }

// Funnel returns the screens of the present menu of a service code, the most shown
// first, with their counts of the last days.
func (s *Service) Funnel(ctx context.Context, code string, days int) ([]ussdcount.FunnelStep, error) {
	m, counts, err := s.usage(ctx, code, days)
	if err != nil {
		return nil, err
	}
	return ussdcount.Funnel(m, counts), nil
}

// GraphWithCounts returns the present menu of a service code as a graph, with how often
// each edge was taken in the last days.
func (s *Service) GraphWithCounts(ctx context.Context, code string, days int) (ussdmenu.Graph, error) {
	m, counts, err := s.usage(ctx, code, days)
	if err != nil {
		return ussdmenu.Graph{}, err
	}
	return ussdcount.Graph(m, counts), nil
}

func (s *Service) usage(ctx context.Context, code string, days int) (*ussdmenu.Menu, map[ussdcount.Count]int64, error) {
	book := s.menus.Book()
	counts, err := s.Counts(ctx, days)
	return book.For(code), ussdcount.Of(book.For(code), book.Menus(), counts), err
}

// Counts returns the sums of what was counted in the last days, today included.
func (s *Service) Counts(ctx context.Context, days int) (map[ussdcount.Count]int64, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	from := s.cfg.Now().UTC().AddDate(0, 0, -min(max(days, 1), 90)+1).Format(time.DateOnly)
	counts, err := s.store.Counts(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("read counts: %w", err)
	}
	return counts, nil
}

// Unlock lets an account try its PIN again at once. It reports whether the
// account exists.
func (s *Service) Unlock(ctx context.Context, account string) (unlocked bool, err error) {
	account = strings.ToUpper(strings.TrimSpace(account))
	if _, err := s.store.Account(ctx, account); err != nil {
		return false, fmt.Errorf("load account: %w", err)
	}
	unlocked, err = s.store.Unlock(ctx, account)
	if err != nil {
		return false, fmt.Errorf("unlock account: %w", err)
	}
	return unlocked, nil
}

// Alias is the name of a telephone where its number must not be written: in ids,
// which logs and lists show.
func (s *Service) Alias(phone string) string { return s.cfg.Keys.Alias(phone) }

// Locks lists what is locked now: accounts, and telephones that tried too many
// foreign ones.
func (s *Service) Locks(ctx context.Context) ([]ussdpin.Lock, error) {
	locks, err := s.store.Locks(ctx, s.cfg.Now(), 500)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	for i := range locks {
		if locks[i].Origin == ussdpin.OriginCaller {
			locks[i].Telephone = s.Alias(locks[i].Account)
		}
	}
	return locks, nil
}

// UnlockTelephone lets a telephone that tried too many foreign accounts try
// again at once. It is named by its number or by its alias, which must be among
// those that are locked (else ErrNoAccount).
func (s *Service) UnlockTelephone(ctx context.Context, telephone string) (alias string, unlocked bool, err error) {
	phone := telephone
	if !ussdnumber.ValidPhone(telephone) {
		if phone, err = s.lockedAs(ctx, telephone); err != nil {
			return "", false, err
		}
	}
	unlocked, err = s.store.Unlock(ctx, phone)
	if err != nil {
		return "", false, fmt.Errorf("unlock telephone: %w", err)
	}
	return s.Alias(phone), unlocked, nil
}

// lockedAs finds the number behind an alias.
func (s *Service) lockedAs(ctx context.Context, alias string) (string, error) {
	locks, err := s.store.Locks(ctx, s.cfg.Now(), maxLocks)
	if err != nil {
		return "", fmt.Errorf("list locks: %w", err)
	}
	for _, l := range locks {
		if l.Origin == ussdpin.OriginCaller && s.cfg.Keys.Names(alias, l.Account) {
			return l.Account, nil
		}
	}
	return "", ErrNoAccount
}

// maxLocks bounds a search for one lock.
const maxLocks = 100_000

// EndSession ends a session because its gateway says that it is over. A session
// that is not there, or has ended, is fine. One that may be continued is left to
// expire: the gateway says so of every session that was cut off, too.
func (s *Service) EndSession(ctx context.Context, dialect, sessionID, phone string) error {
	if !validSessionID(sessionID) {
		return &InvalidError{"sessionId", "must be one that a gateway can have"} // or it could name a session of another dialect
	}
	if phone == "" && dialect != DialectInfobip {
		// Infobip names the session alone. Elsewhere whoever knows an id, and not
		// the number, could end it.
		return &InvalidError{"phoneNumber", "must be that of the session that is over"}
	}
	if s.cfg.ResumeWindow > 0 {
		return nil
	}
	id := sessionKey(dialect, sessionID)
	if _, err := s.memory.Enter(ctx, id); err != nil {
		return fmt.Errorf("wait for session: %w", err)
	}
	defer s.memory.Leave(id)
	for range maxTries {
		s.memory.Drop(id)
		found, err := s.store.Session(ctx, id)
		if errors.Is(err, ErrNoSession) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("load session: %w", err)
		}
		if found.Status == Done || phone != "" && found.Phone != phone {
			return nil
		}
		next := found.clone()
		now := s.cfg.Now()
		next.Status, next.Account, next.Hop = Done, "", found.Hop+1
		next.Memory.Digests, next.Memory.Saved, next.Memory.PINProved, next.Memory.Proof = nil, nil, false, nil
		next.Updated, next.Expires, next.Claimed = now, now.Add(s.cfg.TTL), 0
		err = s.store.Commit(ctx, Change{Session: next, Prior: &Prior{Rev: found.Rev, Hop: found.Hop}, Now: now})
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return fmt.Errorf("end session: %w", err)
		}
		s.tally.Add(ussdcount.Count{Menu: next.Menu, Kind: ussdcount.CountLeft, From: next.screen()})
		return nil
	}
	return ErrStale
}

// CountRefusal counts a request that broke a rule, for operators.
func (s *Service) CountRefusal(dialect string, why *InvalidError) {
	s.tally.Add(ussdcount.Count{Menu: dialect, Kind: ussdcount.CountRefused, From: why.Field, To: why.Rule})
	s.cfg.Observer.Refused(dialect, why.Field)
}

// CountFailure counts a request that was answered before the service was done with it, or
// that never came as far, as failed: "temporarily unavailable" is what its caller reads.
func (s *Service) CountFailure(dialect string, took time.Duration) {
	s.cfg.Observer.Hop(dialect, "", ResultFailed, took)
	s.tally.Add(ussdcount.Took(dialect, ResultFailed, took))
}
