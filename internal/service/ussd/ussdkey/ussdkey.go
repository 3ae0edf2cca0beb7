// Package ussdkey is the way from a lost key to a new one through a linked telephone: a
// request, made at the telephone with its PIN and a code that the new key shows, and what
// becomes of it.
//
// What it promises. A request changes nothing. It waits, so that whoever still has the old
// key can refuse it; from then on an operator may approve it, until it expires. Approving it
// and binding the key is one transaction, and so is undoing it. Every step is noted with who
// took it.
//
// What it refuses. Neither a telephone with its PIN, nor an operator alone, makes anybody
// somebody else. Nobody approves what is about themselves, and for who runs the deployment an
// owner decides; who has which role is read in the transaction that goes by it. A key that was
// used for something of its own is not bound: that would be out of reach.
//
// Decision: ADR 0256.
package ussdkey

import (
	"context"
	"slices"
	"time"

	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// State is what became of a request.
type State string

// The states of a request.
const (
	Waiting   State = "waiting"
	Approved  State = "approved"
	Refused   State = "refused"   // by an operator, or with the old key
	Cancelled State = "cancelled" // at the telephone, or with the link
	Undone    State = "undone"    // after it was approved
	Expired   State = "expired"   // it waited too long; no record says so
)

// Request asks that a new key takes the place of a person's.
type Request struct {
	ID string
	// Account is the telephone's, Phone its number now, or "" when it is closed.
	Account, Phone string
	// Person is the DID that the account is linked with, Key the new one.
	Person, Key string
	// Linked is since when they are, Asked when the request was made. From Ready until
	// Expires it may be approved.
	Linked, Asked, Ready, Expires time.Time
	State                         State
	Decided                       time.Time
	DecidedBy                     string
}

// At returns the request as it is at the time: one that waited too long has expired.
func (r Request) At(now time.Time) Request {
	if r.State == Waiting && !now.Before(r.Expires) {
		r.State = Expired
	}
	return r
}

// The refusals.
var (
	errNone  = fault.New(fault.NotFound, "There is no such request.")
	errOwn   = fault.New(fault.Forbidden, "Somebody else has to approve a request that is about you.").WithCode("own_request")
	errOwner = fault.New(fault.Forbidden, "The person runs this deployment: an owner has to approve it.").WithCode("owner_needed")
	errRole  = fault.New(fault.Forbidden, "Your role was taken away meanwhile: somebody who still has one decides.").WithCode("role_too_low")
	errOther = fault.New(fault.Forbidden, "Whoever approved it undoes it, or an owner.").WithCode("owner_needed")
	errUsed  = fault.New(fault.Conflict, "That key has files, conversations or a role of its own, which would be out of reach: make a new key, and ask with that.").WithCode("key_used")
)

// ErrNone says that there is no such request.
func ErrNone() error { return errNone }

// UndoTime is how long an approved key can be undone. Later than that the person lives by
// it, and the one before is far from sure to be theirs.
const UndoTime = 30 * 24 * time.Hour

// May refuses a step that the request is not ready for.
func (r Request) May(to State, now time.Time) error {
	from := Waiting
	if to == Undone {
		from = Approved
	}
	switch is := r.At(now).State; {
	case is != from:
		return fault.Newf(fault.Conflict, "The request is %s: it cannot be %s any more.", is, to).WithCode("request_" + string(is))
	case to == Undone && !now.Before(r.Decided.Add(UndoTime)):
		return fault.Newf(fault.Conflict, "A new key can be undone for %d days, and this one counts since %s: the person can ask for another at the telephone.",
			int(UndoTime.Hours()/24), r.Decided.UTC().Format(time.RFC3339)).WithCode("request_too_old")
	case to == Approved && now.Before(r.Ready):
		return fault.Newf(fault.Conflict, "The request can be approved from %s on: whoever still has the old key may refuse it until then.",
			r.Ready.UTC().Format(time.RFC3339)).WithCode("request_too_early")
	}
	return nil
}

// Filter is which requests to list, the newest first.
type Filter struct {
	// DID, when set, is the person or the new key.
	DID string
	// Open leaves out what was refused, cancelled or undone, what expired before Now, and
	// what was approved too long before to be undone.
	Open  bool
	Now   time.Time
	Limit int
}

// Store keeps requests.
type Store interface {
	// KeyRequests lists requests.
	KeyRequests(ctx context.Context, f Filter) ([]Request, error)
	// KeyRequestOf returns one request, or ErrNone.
	KeyRequestOf(ctx context.Context, id string) (Request, error)
	// DecideKey takes the step that Request.May and the step itself allow, and notes who took
	// it. Approving it binds the key, and undoing it gives the one before back. All of that is
	// one transaction, in which nobody else changes the request.
	DecideKey(ctx context.Context, id string, step Step) (Request, error)
}

// Step is what somebody decides about a request.
type Step struct {
	To State
	By string
	At time.Time
	// Allowed, which may be nil, refuses who may not decide so about the request as it is then.
	// The witness belongs to the same transaction.
	Allowed func(ctx context.Context, r Request, stands Witness) error
}

// Witness says how people stand here.
type Witness interface {
	// Role returns the role that a DID has itself.
	Role(ctx context.Context, did string) (operators.Role, error)
	// Used reports whether a DID has something of its own.
	Used(ctx context.Context, did string) (bool, error)
}

// Config is what the service needs.
type Config struct {
	// Stands says how people stand, to who asks or looks: a step has a witness of its own.
	Stands Witness
	// Bound is told when a binding changed.
	Bound func(ctx context.Context)
	Now   func() time.Time
}

// Service decides about requests.
type Service struct {
	store Store
	cfg   Config
}

// New returns a service on the store.
func New(store Store, cfg Config) *Service { return &Service{store: store, cfg: cfg} }

// Operator is who decides.
type Operator struct {
	Name string
	// Owner is an owner in person: a key outlives the delegation by which somebody is one.
	Owner bool
	// From is the DID whose role they act by, theirs or that of who lends it, and "" for a secret.
	From string
}

// still returns the operator with what is left of the role, and refuses one who lost it.
func (o Operator) still(ctx context.Context, stands Witness) (Operator, error) {
	if o.From == "" {
		return o, nil
	}
	role, err := stands.Role(ctx, o.From)
	if err != nil {
		return Operator{}, err
	}
	if role != operators.Operator && role != operators.Owner {
		return Operator{}, errRole
	}
	o.Owner = o.Owner && role == operators.Owner
	return o, nil
}

// runs reports whether a DID runs the deployment.
func runs(ctx context.Context, stands Witness, did string) (bool, error) {
	role, err := stands.Role(ctx, did)
	return role != operators.None, err
}

const maxListed = 500

// Open lists the requests that wait and those that could be undone, or all.
func (s *Service) Open(ctx context.Context, all bool) ([]Request, error) {
	return s.list(ctx, Filter{Open: !all})
}

// Of lists the requests about a DID: for its key, or made with it.
func (s *Service) Of(ctx context.Context, did string) ([]Request, error) {
	return s.list(ctx, Filter{DID: did})
}

func (s *Service) list(ctx context.Context, f Filter) ([]Request, error) {
	f.Now, f.Limit = s.cfg.Now(), maxListed
	all, err := s.store.KeyRequests(ctx, f)
	for i := range all {
		all[i] = all[i].At(f.Now)
	}
	return all, err
}

// Fresh refuses a key that was used for something of its own.
func (s *Service) Fresh(ctx context.Context, key string) error { return fresh(ctx, s.cfg.Stands, key) }

func fresh(ctx context.Context, stands Witness, key string) error {
	used, err := stands.Used(ctx, key)
	if err == nil && used {
		return errUsed
	}
	return err
}

// Approve binds the new key. Who may is looked at where it is bound: roles are taken and
// given, and keys used, while somebody decides.
func (s *Service) Approve(ctx context.Context, id string, by Operator) (Request, error) {
	allowed := func(ctx context.Context, r Request, stands Witness) error { return r.approvedBy(ctx, by, stands) }
	return s.decide(ctx, id, Step{To: Approved, By: by.Name, Allowed: allowed})
}

// approvedBy refuses who may not approve a request, and a key that cannot be bound.
func (r Request) approvedBy(ctx context.Context, by Operator, stands Witness) error {
	if own := []string{r.Person, r.Key}; slices.Contains(own, by.Name) || slices.Contains(own, by.From) {
		return errOwn
	}
	by, err := by.still(ctx, stands)
	if err != nil {
		return err
	}
	is, err := runs(ctx, stands, r.Person)
	if err != nil {
		return err
	}
	if is && !by.Owner {
		return errOwner
	}
	return fresh(ctx, stands, r.Key)
}

// Refuse ends a request, for an operator.
func (s *Service) Refuse(ctx context.Context, id, by string) (Request, error) {
	return s.decide(ctx, id, Step{To: Refused, By: by})
}

// RefuseOwn ends a request with the key that would be replaced: whoever has it is
// stronger than a telephone.
func (s *Service) RefuseOwn(ctx context.Context, id, person string) (Request, error) {
	r, err := s.store.KeyRequestOf(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if r.Person != person {
		return Request{}, errNone
	}
	return s.decide(ctx, id, Step{To: Refused, By: person})
}

// Undo gives the person the key before back. The new one is nobody's from then on. Who
// approved it undoes it, within UndoTime, or an owner; about who runs the deployment an
// owner alone decides there too.
//
// Who approved it is looked at where it is undone: somebody else may approve it meanwhile.
func (s *Service) Undo(ctx context.Context, id string, by Operator) (Request, error) {
	allowed := func(ctx context.Context, r Request, stands Witness) error {
		by, err := by.still(ctx, stands)
		if err != nil {
			return err
		}
		is, err := runs(ctx, stands, r.Person)
		if err != nil {
			return err
		}
		return r.undoneBy(by, is)
	}
	return s.decide(ctx, id, Step{To: Undone, By: by.Name, Allowed: allowed})
}

// undoneBy refuses who may not undo an approved request; runs says whether its person runs
// the deployment.
func (r Request) undoneBy(by Operator, runs bool) error {
	switch {
	case by.Owner:
		return nil
	case runs:
		return errOwner
	case by.Name != r.DecidedBy:
		return errOther
	}
	return nil
}

// MayUndo reports whether an operator could undo a request as it is now.
func (s *Service) MayUndo(ctx context.Context, r Request, by Operator) (bool, error) {
	open := r.May(Undone, s.cfg.Now()) == nil && r.undoneBy(by, false) == nil
	if !open || by.Owner {
		return open, nil
	}
	is, err := runs(ctx, s.cfg.Stands, r.Person)
	return err == nil && r.undoneBy(by, is) == nil, err
}

func (s *Service) decide(ctx context.Context, id string, step Step) (Request, error) {
	step.At = s.cfg.Now()
	r, err := s.store.DecideKey(ctx, id, step)
	if err == nil && (step.To == Approved || step.To == Undone) {
		s.cfg.Bound(ctx)
	}
	return r, err
}
