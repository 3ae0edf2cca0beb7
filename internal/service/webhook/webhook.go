// Package webhook tells owners' programs what happened to what is theirs, by
// HTTPS requests in the form of Standard Webhooks.
//
// It promises that an event is written in the transaction of what it reports, and
// sent at least once, under one id, until the receiver takes it or has refused it
// for more than a day; that owners hear of what is theirs alone; that events name
// things by ids and CIDs, and never carry content, paths, titles, telephone
// numbers or tokens, but for the values that telephone callers send on purpose;
// that secrets are shown once and sealed at rest; and that an owner whose
// receiver hangs slows nobody else. It does not promise order.
//
// It refuses addresses that are not public, when an endpoint is made and at each
// connection, and follows no redirects.
//
// Decision: ADR 0167.
package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Bounds of what an owner may have.
const (
	MaxEndpoints   = 10
	maxURL         = 2048
	maxDescription = 256
	maxSecrets     = 5
	// SecretOverlap is how long the former secret signs beside a new one.
	SecretOverlap = 24 * time.Hour
	// Retention is how long events and their deliveries are kept.
	Retention = 30 * 24 * time.Hour
	// MaxKept is how many deliveries of an endpoint are kept; the oldest go first.
	MaxKept = 20_000
	// MaxReplay is how many deliveries one call sends again: on SQLite everybody
	// waits for that transaction.
	MaxReplay = 100
)

// State is what became of a delivery.
type State string

// The states of deliveries.
const (
	Waiting   State = "waiting"   // to be sent, or to be sent again
	Delivered State = "delivered" // answered with 2xx
	Failed    State = "failed"    // given up
	Held      State = "held"      // its endpoint was paused or disabled
)

// Endpoint is where an owner wants to be told.
type Endpoint struct {
	ID          string
	Owner       string // a DID
	URL         string
	Description string
	Events      []string
	Created     time.Time
	// Paused is the owner's wish; Disabled is when we gave up, and Reason why.
	Paused   bool
	Disabled time.Time
	Reason   string
	// LastSuccess and FailingSince are zero when there was none, or it is not.
	LastSuccess, FailingSince time.Time
}

// Status is how an endpoint is, in a word.
func (e Endpoint) Status() string {
	switch {
	case !e.Disabled.IsZero():
		return "disabled"
	case e.Paused:
		return "paused"
	case !e.FailingSince.IsZero():
		return "failing"
	}
	return "active"
}

// Open reports whether deliveries are sent.
func (e Endpoint) Open() bool { return e.Disabled.IsZero() && !e.Paused }

// Delivery is an event on its way to an endpoint, or what became of it.
type Delivery struct {
	Event    string // also the webhook-id
	Type     string
	Created  time.Time
	State    State
	Attempts int
	// Tried is the last attempt; the rest is what it came to.
	Tried  time.Time
	Next   time.Time // when it is tried again
	Status int       // of the answer; 0 when there was none
	Took   time.Duration
	Error  string // in our words
	Answer string // the first bytes of the answer
}

// Event is something that happened.
type Event struct {
	ID    string
	Owner string
	Type  string
	At    time.Time
	Body  []byte
}

// NewEvent makes an event with an id of its own. Its body is what receivers see.
func NewEvent(owner, kind string, at time.Time, data any) (Event, error) {
	return namedEvent(EventPrefix+rand.Text(), owner, kind, at, data)
}

func namedEvent(id, owner, kind string, at time.Time, data any) (Event, error) {
	if !Known(kind) {
		return Event{}, fmt.Errorf("webhook: no event %q", kind)
	}
	body, err := json.Marshal(struct {
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
		Data      any    `json:"data"`
	}{kind, at.UTC().Format("2006-01-02T15:04:05.000Z"), data})
	if err != nil {
		return Event{}, fmt.Errorf("encode event: %w", err)
	}
	return Event{ID: id, Owner: owner, Type: kind, At: at, Body: body}, nil
}

// Change is what an owner changes; nil leaves a thing as it is. To open an
// endpoint also takes back that it was disabled.
type Change struct {
	URL, Description *string
	Events           []string
	Paused           *bool
}

// DeliveryQuery selects deliveries, newest first.
type DeliveryQuery struct {
	State  State  // any when empty
	Before string // the event before which to go on
	Limit  int
}

// ReplayQuery selects deliveries, oldest first.
type ReplayQuery struct {
	Since time.Time
	After string // the event after which to go on, in place of Since
	// Delivered selects those too that have arrived.
	Delivered bool
}

// Due is a delivery whose time has come.
type Due struct {
	Endpoint Endpoint
	Secrets  [][]byte // sealed
	Event    string
	Body     []byte
	// Last says that it is given up if it fails.
	Last bool
}

// Result is what sending came to.
type Result struct {
	// Gone deliveries have no endpoint any more, and are forgotten; Held ones wait
	// for their owner.
	Gone, Held bool
	Delivered  bool
	// Disable is the reason to disable the endpoint at once; the endpoint is also
	// disabled when the delivery was given up and none succeeded meanwhile.
	Disable string
	At      time.Time
	Took    time.Duration
	Status  int
	Error   string
	Answer  string
	// RetryAfter is the least pause before it is tried again, as the receiver asked for.
	RetryAfter time.Duration
}

// ErrNotFound is the one answer for endpoints and deliveries that are not there
// or somebody else's.
var ErrNotFound = fault.New(fault.NotFound, "Webhook not found")

// The beginnings of ids. What follows is 26 characters of upper-case base32.
const (
	EndpointPrefix = "ep_"
	EventPrefix    = "evt_"
)

// PlausibleID bounds what reaches the database: ids have one spelling.
func PlausibleID(prefix, id string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && len(rest) == 26 && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Store keeps endpoints, events and deliveries. Whose they are is part of every
// question. All changes are durable when a method returns nil.
type Store interface {
	// Create stores an endpoint with its secret, unless its owner has limit of them.
	Create(ctx context.Context, e Endpoint, secret []byte, limit int) error
	Endpoints(ctx context.Context, owner string) ([]Endpoint, error)
	Endpoint(ctx context.Context, owner, id string) (Endpoint, error)
	Change(ctx context.Context, owner, id string, c Change) (Endpoint, error)
	Delete(ctx context.Context, owner, id string) error
	// AddSecret makes a secret the newest, and lets the others end; it fails with a
	// fault.Conflict when limit are in use.
	AddSecret(ctx context.Context, owner, id string, secret []byte, at, othersUntil time.Time, limit int) error
	Deliveries(ctx context.Context, owner, id string, q DeliveryQuery) ([]Delivery, error)
	// Send puts an event on its way to one endpoint, whatever that has chosen.
	Send(ctx context.Context, endpoint string, e Event) error
	// Replay sends a delivery again, or at once.
	Replay(ctx context.Context, owner, id, event string) error
	// ReplaySince does so for a page of them, and returns those that it chose.
	ReplaySince(ctx context.Context, owner, id string, r ReplayQuery, limit int) ([]Delivery, error)
	// Work hands out what is due until ctx ends, and keeps what came of it.
	Work(ctx context.Context, now func() time.Time, do func(ctx context.Context, d Due) (Result, error)) error
	// Callee returns an endpoint, whoever it belongs to, with the secrets that sign now.
	Callee(ctx context.Context, id string, now time.Time) (e Endpoint, secrets [][]byte, err error)
	// Prune forgets what is older, at most limit rows of each kind, and says whether
	// there may be more.
	Prune(ctx context.Context, before time.Time, limit int) (more bool, err error)
}

// Request is what is sent to an endpoint.
type Request struct {
	URL    string
	Header map[string]string
	Body   []byte
	// Read is how much of the answer's body is wanted beside its beginning.
	Read int
}

// Answer is what an endpoint said.
type Answer struct {
	Status int
	First  string // bytes of the body, bounded and printable
	// Body is as much of the body as was wanted; one that is longer is left out.
	Body []byte
	// RetryAfter is the pause that it asked for, within bounds; zero when it did not.
	RetryAfter time.Duration
}

// Sender makes requests. Its errors are in words that owners may see.
type Sender interface {
	Send(ctx context.Context, r Request) (Answer, error)
	// CheckHost refuses a host that is not one of the public internet.
	CheckHost(ctx context.Context, host string) error
}

// Deps is what a Service needs.
type Deps struct {
	Store  Store
	Sender Sender
	// Key seals secrets: bytes that do not change.
	Key []byte
	Log *slog.Logger
	Now func() time.Time
	// Plain lets endpoints be plain HTTP: where private addresses are allowed.
	Plain bool
}

// Service is the use cases of owners, and the work of sending.
type Service struct {
	Deps
	vault vault
	calls calls
}

// New makes a Service.
func New(d Deps) (*Service, error) {
	v, err := newVault(d.Key)
	if err != nil {
		return nil, err
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Service{Deps: d, vault: v}, nil
}

// NewEndpoint is what an owner asks for.
type NewEndpoint struct {
	URL, Description string
	Events           []string
}

// Add makes an endpoint and returns its secret, which is shown this once.
func (s *Service) Add(ctx context.Context, owner string, n NewEndpoint) (Endpoint, Secret, error) {
	address, err := s.checkURL(ctx, n.URL)
	if err != nil {
		return Endpoint{}, Secret{}, err
	}
	events, err := ParseEvents(n.Events)
	if err != nil {
		return Endpoint{}, Secret{}, err
	}
	if err := checkDescription(n.Description); err != nil {
		return Endpoint{}, Secret{}, err
	}
	e := Endpoint{
		ID: EndpointPrefix + rand.Text(), Owner: owner, URL: address, Description: n.Description, Events: events,
		Created: s.Now(),
	}
	secret := newSecret()
	sealed, err := s.vault.seal(e.ID, secret)
	if err != nil {
		return Endpoint{}, Secret{}, err
	}
	if err := s.Store.Create(ctx, e, sealed, MaxEndpoints); err != nil {
		return Endpoint{}, Secret{}, err
	}
	return e, secret, nil
}

// Change changes one of the owner's endpoints.
func (s *Service) Change(ctx context.Context, owner, id string, c Change) (Endpoint, error) {
	if c.URL != nil {
		address, err := s.checkURL(ctx, *c.URL)
		if err != nil {
			return Endpoint{}, err
		}
		c.URL = &address
	}
	if c.Description != nil {
		if err := checkDescription(*c.Description); err != nil {
			return Endpoint{}, err
		}
	}
	if c.Events != nil {
		events, err := ParseEvents(c.Events)
		if err != nil {
			return Endpoint{}, err
		}
		c.Events = events
	}
	return s.Store.Change(ctx, owner, id, c)
}

// Rotate makes a new secret. The former one signs beside it for SecretOverlap.
func (s *Service) Rotate(ctx context.Context, owner, id string) (Secret, error) {
	secret := newSecret()
	sealed, err := s.vault.seal(id, secret)
	if err != nil {
		return Secret{}, err
	}
	now := s.Now()
	return secret, s.Store.AddSecret(ctx, owner, id, sealed, now, now.Add(SecretOverlap), maxSecrets)
}

// Test sends an event to one endpoint and returns its id.
func (s *Service) Test(ctx context.Context, owner, id string) (string, error) {
	e, err := s.Store.Endpoint(ctx, owner, id)
	if err != nil {
		return "", err
	}
	if !e.Open() {
		return "", errNotOpen(e)
	}
	event, err := NewEvent(owner, TypeTest, s.Now(), map[string]string{"endpointId": id})
	if err != nil {
		return "", err
	}
	return event.ID, s.Store.Send(ctx, id, event)
}

func errNotOpen(e Endpoint) error {
	return fault.Newf(fault.Conflict, "the webhook is %s: set its status to active first", e.Status()).WithCode("webhook_" + e.Status())
}

// Replay sends one delivery again, under its id.
func (s *Service) Replay(ctx context.Context, owner, id, event string) error {
	e, err := s.Store.Endpoint(ctx, owner, id)
	if err != nil {
		return err
	}
	if !e.Open() {
		return errNotOpen(e)
	}
	return s.Store.Replay(ctx, owner, id, event)
}

// ReplaySince sends deliveries again that were created since a time: at most
// MaxReplay. It returns how many, and the event with which to go on, if any are left.
func (s *Service) ReplaySince(ctx context.Context, owner, id string, r ReplayQuery) (n int, next string, err error) {
	e, err := s.Store.Endpoint(ctx, owner, id)
	if err != nil {
		return 0, "", err
	}
	if !e.Open() {
		return 0, "", errNotOpen(e)
	}
	page, err := s.Store.ReplaySince(ctx, owner, id, r, MaxReplay)
	if len(page) == MaxReplay {
		next = page[MaxReplay-1].Event
	}
	return len(page), next, err
}

func checkDescription(text string) error {
	if len(text) > maxDescription || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fault.Newf(fault.Invalid, "description must be one line of at most %d bytes", maxDescription)
	}
	return nil
}

// checkURL returns the one form of an address, after its host was looked up.
func (s *Service) checkURL(ctx context.Context, text string) (string, error) {
	u, err := ParseURL(text, s.Plain)
	if err != nil {
		return "", err
	}
	if err := s.Sender.CheckHost(ctx, u.Hostname()); err != nil {
		return "", fault.Newf(fault.Invalid, "url: %s", err.Error()).WithCode("webhook_address")
	}
	return u.String(), nil
}

// ParseURL reads the address of an endpoint: https, or also http when plain is
// allowed, with a host in plain letters, and without user, password or fragment.
func ParseURL(text string, plain bool) (*url.URL, error) {
	u, err := url.Parse(text)
	bad := func(why string) error { return fault.New(fault.Invalid, "url "+why).WithCode("webhook_address") }
	switch {
	case len(text) > maxURL:
		return nil, bad("must have at most 2048 bytes")
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return nil, bad("must be an address such as https://example.org/hook")
	case u.Scheme != "https" && (!plain || u.Scheme != "http"):
		return nil, bad("must begin with https://")
	case u.User != nil:
		return nil, bad("must not hold a user or a password")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, bad("must not have a fragment")
	case strings.Trim(u.Hostname(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:") != "":
		return nil, bad("must name its host in plain letters (xn--… for others)")
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}
