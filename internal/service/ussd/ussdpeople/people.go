package ussdpeople

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcode"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// Act is something that was done to an account. Detail names nobody.
type Act struct {
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Act     string    `json:"act"`
	Account string    `json:"account"`
	Detail  string    `json:"detail,omitempty"`
}

// What is done to accounts.
const (
	ActResetCode = "reset code made"
	ActPINReset  = "PIN reset"
	ActClose     = "closed"
	ActErase     = "erased"
	ActMove      = "moved"
	ActLink      = "linked"
	ActUnlink    = "unlinked"

	ActAskKey     = "new key asked for"
	ActCancelKey  = "request for a new key cancelled"
	ActApproveKey = "new key approved"
	ActRefuseKey  = "new key refused"
	ActUndoKey    = "new key undone"
)

// ActorCaller is the actor of what is done at a telephone. Others are operators, and
// DIDs of people.
const ActorCaller = "caller"

// Account is an account of a telephone as operators see it.
type Account struct {
	ID       string
	Phone    string
	Name     string
	Email    string
	Language string
	Created  time.Time
	Closed   time.Time // zero while it is open
	DID      string    // the person that it is linked with, or ""
}

// Search is which accounts to list, in order of their ids.
type Search struct {
	// Phone is the whole number, Text a part of a name or an e-mail address; both
	// may be empty.
	Phone, Text string
	After       string
	Limit       int
}

// Receipt is what erasing an account removed. It names nobody.
type Receipt struct {
	Account       string    `json:"account"`
	ErasedAt      time.Time `json:"erasedAt"`
	By            string    `json:"by"`
	Sessions      int64     `json:"sessions"`
	Questions     int64     `json:"questions"`
	Attempts      int64     `json:"attempts"`
	Codes         int64     `json:"codes"`
	Links         int64     `json:"links"`
	Forms         int64     `json:"forms"`
	Conversations int64     `json:"conversations"`
	// Telephone says that nothing is left of the number either: no other account has it.
	Telephone bool `json:"telephone"`
}

// Link is an account that is the same person as a DID.
type Link struct {
	Account string
	DID     string
	Created time.Time
}

// Store keeps accounts for operators. What changes something stores the act with it.
// An account that is not there is ussd.ErrNoAccount.
type Store interface {
	Accounts(ctx context.Context, s Search) ([]Account, error)
	// PutCode stores a code in the place of an earlier one of the same issuer. One for a
	// reset forgets the wrong guesses at such codes and is noted; a person may make it
	// for a linked account only (else ussd.ErrNoAccount). Send, the beginning of the
	// code or nothing, goes to the account's own telephone by a text message, in the
	// same transaction.
	PutCode(ctx context.Context, c ussdcode.Code, send string, by Act) error
	// CloseAccount ends an account's sessions and puts its record aside, without PIN.
	CloseAccount(ctx context.Context, by Act) error
	// EraseAccount removes an account, open or closed, and all that belongs to it.
	EraseAccount(ctx context.Context, by Act) (Receipt, error)
	// MoveAccount gives an account another telephone, which may have so many. Its
	// sessions, codes and link end. One that has them is ussd.ErrTooMany.
	MoveAccount(ctx context.Context, phone string, limit int, by Act) error
	// Link returns the person of an account, or "".
	Link(ctx context.Context, account string) (did string, err error)
	Links(ctx context.Context, did string) ([]Link, error)
	// Unlink removes a link, if it is with the DID, and reports whether there was one.
	Unlink(ctx context.Context, did string, by Act) (bool, error)
	// Acts lists what was done, the newest first, to one account or (when it is
	// empty) to all.
	Acts(ctx context.Context, account string, limit int) ([]Act, error)
}

// Forget removes what other services keep for an account, and says how many
// conversations that was.
type Forget interface {
	ForgetAccount(ctx context.Context, account string) (conversations int64, err error)
}

// Config is what the service needs.
type Config struct {
	Keys *ussdpin.Keys
	// Forget may be nil: then nobody else keeps anything.
	Forget Forget
	// AccountsPerPhone bounds accounts of one telephone; 0 is 5.
	AccountsPerPhone int
	Now              func() time.Time
}

// Service does what operators ask for.
type Service struct {
	store Store
	cfg   Config
}

// New returns a service on the store.
func New(store Store, cfg Config) *Service {
	if cfg.AccountsPerPhone <= 0 {
		cfg.AccountsPerPhone = ussd.AccountsPerPhone
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{store: store, cfg: cfg}
}

// How long codes are good: an operator's is told over a line or across a counter,
// a link's is read from one screen and typed at another.
const (
	ResetTime = 30 * time.Minute
	LinkTime  = 10 * time.Minute
)

// Told is a code that was made. It is shown this once.
type Told struct {
	Account string `json:"account"`
	Code    string `json:"code"`
	// Sent is how many digits stand before Code and went to the telephone alone.
	Sent    int       `json:"sent,omitempty" jsonschema:"how many digits come before code: they were sent to the telephone"`
	Expires time.Time `json:"expiresAt"`
}

// SentDigits is how much of a code a text message has. The rest is as long as a PIN
// and guessed as often: whoever holds the telephone alone is no nearer to the account
// than by its PIN.
const SentDigits = 3

// The errors that people see.
var (
	errNoAccount = fault.New(fault.NotFound, "There is no such account.")
	errTooMany   = fault.New(fault.Conflict, "That telephone has enough accounts.")
)

// public turns the errors of a store into those that people see.
func public(err error) error {
	switch {
	case errors.Is(err, ussd.ErrNoAccount):
		return errNoAccount
	case errors.Is(err, ussd.ErrTooMany):
		return errTooMany
	}
	return err
}

// accountID is the one spelling of an account's id.
func accountID(given string) string { return strings.ToUpper(strings.TrimSpace(given)) }

func (s *Service) act(actor, act, account, detail string) Act {
	return Act{At: s.cfg.Now(), Actor: actor, Act: act, Account: accountID(account), Detail: detail}
}

// maxListed bounds a page, maxText what is searched for.
const (
	maxListed = 500
	maxText   = 80
)

// Accounts lists a page of accounts.
func (s *Service) Accounts(ctx context.Context, q Search) ([]Account, error) {
	q.After, q.Text = accountID(q.After), strings.TrimSpace(q.Text)
	switch {
	case q.Phone != "" && !ussdnumber.ValidPhone(q.Phone):
		return nil, fault.New(fault.Invalid, "phoneNumber must be an E.164 number")
	case utf8.RuneCountInString(q.Text) > maxText:
		return nil, fault.Newf(fault.Invalid, "text must have at most %d characters", maxText)
	}
	if q.Limit <= 0 || q.Limit > maxListed {
		q.Limit = maxListed
	}
	return s.store.Accounts(ctx, q)
}

// ResetCode makes the code with which the owner of an account sets a new PIN, at the
// account's own telephone.
func (s *Service) ResetCode(ctx context.Context, account, operator string) (Told, error) {
	return s.code(ctx, ussdpin.PurposeReset, ussdcode.IssuerOperator, ResetTime, 0,
		s.act(operator, ActResetCode, account, ""))
}

// SendResetCode makes such a code, sends its beginning to the account's own telephone
// and returns the rest, for the operator to tell. What is told to an impostor is of no
// use without the message, and the message none without what is told: a PIN is never
// reset by whoever holds the telephone alone.
func (s *Service) SendResetCode(ctx context.Context, account, operator string) (Told, error) {
	return s.code(ctx, ussdpin.PurposeReset, ussdcode.IssuerOperator, ResetTime, SentDigits,
		s.act(operator, ActResetCode, account, "in part by text message"))
}

// code makes a code, and sends so many of its digits instead of telling them.
func (s *Service) code(ctx context.Context, purpose, issuer string, d time.Duration, sent int, by Act) (Told, error) {
	code, mac := s.cfg.Keys.NewCode(purpose, by.Account, issuer)
	c := ussdcode.Code{
		Account: by.Account, Purpose: purpose, Issuer: issuer, MAC: mac, Created: by.At, Expires: by.At.Add(d),
	}
	if err := s.store.PutCode(ctx, c, code[:sent], by); err != nil {
		return Told{}, public(err)
	}
	return Told{Account: by.Account, Code: code[sent:], Sent: sent, Expires: c.Expires}, nil
}

// Close closes an account: nobody logs in to it any more, and its PIN is forgotten.
func (s *Service) Close(ctx context.Context, account, operator string) error {
	return public(s.store.CloseAccount(ctx, s.act(operator, ActClose, account, "")))
}

// Erase removes an account and all that belongs to it. What others keep goes first:
// whoever is cut off between the two can do it again.
func (s *Service) Erase(ctx context.Context, account, operator string) (Receipt, error) {
	by, talks := s.act(operator, ActErase, account, ""), int64(0)
	if s.cfg.Forget != nil {
		n, err := s.cfg.Forget.ForgetAccount(ctx, by.Account)
		if err != nil {
			return Receipt{}, fmt.Errorf("forget conversations: %w", err)
		}
		talks = n
	}
	r, err := s.store.EraseAccount(ctx, by)
	if err != nil {
		return Receipt{}, public(err)
	}
	r.Account, r.ErasedAt, r.By, r.Conversations = by.Account, by.At, by.Actor, talks
	return r, nil
}

// Move gives an account to another telephone. Its PIN stays; its link with a person
// ends, which takes that person to make again.
func (s *Service) Move(ctx context.Context, account, phone, operator string) error {
	if !ussdnumber.ValidPhone(phone) {
		return fault.New(fault.Invalid, "phoneNumber must be an E.164 number")
	}
	return public(s.store.MoveAccount(ctx, phone, s.cfg.AccountsPerPhone, s.act(operator, ActMove, account, "")))
}

// Acts lists what was done, the newest first.
func (s *Service) Acts(ctx context.Context, account string, limit int) ([]Act, error) {
	return s.store.Acts(ctx, accountID(account), min(max(limit, 1), maxListed))
}
