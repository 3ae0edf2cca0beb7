package credits

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Account is what a user has, in whole credits. Granted is always the sum of
// Available, Held and Spent, and none of them is ever negative. Owed is what
// was used beyond that; it is paid before anything becomes available again.
type Account struct {
	Granted   int64 `json:"granted"`
	Available int64 `json:"available"`
	Held      int64 `json:"held"`
	Spent     int64 `json:"spent"`
	Owed      int64 `json:"owed"`
	// Entries numbers what happened to the account.
	Entries int64 `json:"entries"`
	// Subscribed is what the subscription service said last; zero without one.
	Subscribed int64 `json:"subscribed,omitempty"`
}

// Entry is one thing that happened to an account.
type Entry struct {
	Kind      string `json:"kind"` // grant, use, payment, release, elsewhere
	Amount    int64  `json:"amount"`
	Available int64  `json:"available"`
	Note      string `json:"note,omitempty"`
	At        string `json:"at"`
}

// Claim is use that could not be paid.
type Claim struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
	DID    string `json:"did,omitempty"`
	At     string `json:"at,omitempty"`
}

// Bounds of the ledger.
const (
	MaxAmount = 1_000_000_000_000
	maxTotal  = 1_000_000_000_000_000
	maxClaims = 100
	// settledFor is how long a settlement is known as done.
	settledFor = 30 * 24 * time.Hour
)

// ErrShort says that there are not enough credits to hold.
var ErrShort = errors.New("not enough credits")

// ErrReused says that the key of a grant belongs to one of another amount.
var ErrReused = errors.New("the key was used for a grant of another amount")

// errBounds says that an amount cannot be booked.
var errBounds = errors.New("the amount is out of bounds")

// Ledger books grants, holds and settlements. Each method is one transaction,
// and doing it again with the same key changes nothing.
//
// Keys: a/user account, h/user/hold and x/expiry/user/hold a hold, d/user/op what
// was done, e/user/n entries, c/user/n claims, t/day/letter sums of all users.
type Ledger struct {
	store plugin.Store
	// low and least are what an owner is told of: see TellBelow.
	low, least int64
}

// NewLedger keeps accounts in a store.
func NewLedger(store plugin.Store) *Ledger { return &Ledger{store: store} }

// TellBelow makes the ledger report when what somebody has left, held parts
// included, falls below low, and below least, with which nobody is served any more.
func (l *Ledger) TellBelow(low, least int64) *Ledger {
	return &Ledger{store: l.store, low: low, least: least}
}

// The names of what is reported. They are a contract with those who listen.
const (
	eventLow       = "credits.low"
	eventExhausted = "credits.exhausted"
)

// tell reports that an account has fallen below a mark, in the transaction that
// makes it so.
func (l *Ledger) tell(ctx context.Context, tx plugin.Tx, did string, before, now Account) error {
	was, left := before.Available+before.Held, now.Available+now.Held
	kind := ""
	switch {
	case was >= l.least && left < l.least:
		kind = eventExhausted
	case was >= l.low && left < l.low:
		kind = eventLow
	default:
		return nil
	}
	return plugin.Emit(ctx, tx,
		plugin.Event{UserDID: did, Type: kind, Data: map[string]int64{"available": now.Available, "held": now.Held}})
}

// hold is a part of an account that is set aside.
type hold struct {
	Amount  int64 `json:"amount"`
	Expires int64 `json:"expires"` // Unix milliseconds
}

// kept is an account as it is stored.
type kept struct {
	Account
	// Followed is when the subscription service was asked whose word counts, in
	// Unix milliseconds of the node that asked.
	Followed int64 `json:"followed,omitempty"`
}

// book is an account inside a transaction.
type book struct {
	kept
	tx   plugin.Tx
	user string
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// reader is what Store and Tx have in common here.
type reader interface {
	Get(ctx context.Context, key string) ([]byte, bool, error)
	Scan(ctx context.Context, r plugin.Range) ([]plugin.Entry, error)
}

// load reads a JSON record; an absent one leaves into as it is.
func load(ctx context.Context, from reader, key string, into any) (bool, error) {
	value, ok, err := from.Get(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("decode %s: %w", key[:1], err)
	}
	return true, nil
}

func put(ctx context.Context, tx plugin.Tx, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(ctx, key, value, 0)
}

// change runs fn on the account of a user and stores what it made of it.
func (l *Ledger) change(ctx context.Context, did string, fn func(ctx context.Context, b *book) error) (Account, error) {
	return l.changeAs(ctx, did, plugin.UserKey(did), fn)
}

// changeAs is change for an account whose user's DID may be unknown (""): nobody
// is told of it then.
func (l *Ledger) changeAs(ctx context.Context, did, user string,
	fn func(ctx context.Context, b *book) error,
) (Account, error) {
	var out Account
	err := l.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		b := &book{tx: tx, user: user}
		if _, err := load(ctx, tx, "a/"+user, &b.kept); err != nil {
			return err
		}
		before := b.kept
		if err := fn(ctx, b); err != nil {
			return err
		}
		if err := b.payClaims(ctx); err != nil {
			return err
		}
		out = b.Account
		if b.kept == before {
			return nil
		}
		if out.Available < 0 || out.Held < 0 || out.Spent < 0 || out.Owed < 0 ||
			out.Granted != out.Available+out.Held+out.Spent {
			return fmt.Errorf("the account does not add up: %+v", out)
		}
		if err := b.countDay(ctx, before.Account); err != nil {
			return err
		}
		if did != "" {
			if err := l.tell(ctx, tx, did, before.Account, out); err != nil {
				return err
			}
		}
		return put(ctx, tx, "a/"+user, b.kept)
	})
	return out, err
}

// once reports whether an operation is new, and marks it as done with mark.
func (b *book) once(ctx context.Context, op string, mark []byte, ttl time.Duration) (bool, error) {
	key := b.doneKey(op)
	_, done, err := b.tx.Get(ctx, key)
	if err != nil || done {
		return false, err
	}
	return true, b.tx.Put(ctx, key, mark, ttl)
}

func (b *book) doneKey(op string) string { return "d/" + b.user + "/" + hashed(op) }

func (b *book) enter(ctx context.Context, kind string, amount int64, note string) error {
	b.Entries++
	return put(ctx, b.tx, fmt.Sprintf("e/%s/%016d", b.user, b.Entries), Entry{
		Kind: kind, Amount: amount, Available: b.Available, Note: note, At: b.tx.Now().UTC().Format(time.RFC3339Nano),
	})
}

// release puts a hold back.
func (b *book) release(ctx context.Context, id string, h hold) error {
	b.Held -= h.Amount
	b.Available += h.Amount
	if err := b.tx.Delete(ctx, "h/"+b.user+"/"+id); err != nil {
		return err
	}
	return b.tx.Delete(ctx, expiryKey(h.Expires, b.user, id))
}

func expiryKey(ms int64, user, id string) string { return fmt.Sprintf("x/%016d/%s/%s", ms, user, id) }

// releaseExpired puts the user's expired holds back.
func (b *book) releaseExpired(ctx context.Context) error {
	holds, err := b.tx.Scan(ctx, plugin.Range{Prefix: "h/" + b.user + "/"})
	if err != nil {
		return err
	}
	for _, e := range holds {
		var h hold
		if err := json.Unmarshal(e.Value, &h); err != nil {
			return fmt.Errorf("decode hold: %w", err)
		}
		if h.Expires > b.tx.Now().UnixMilli() {
			continue
		}
		if err := b.release(ctx, strings.TrimPrefix(e.Key, "h/"+b.user+"/"), h); err != nil {
			return err
		}
		if err := b.enter(ctx, "release", h.Amount, "the hold expired"); err != nil {
			return err
		}
	}
	return nil
}

// payClaims pays what is owed, the oldest first.
func (b *book) payClaims(ctx context.Context) error {
	if b.Owed == 0 || b.Available == 0 {
		return nil
	}
	owed, err := b.claims(ctx)
	if err != nil {
		return err
	}
	for _, c := range owed {
		if b.Available == 0 {
			break
		}
		if err := b.pay(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// owedClaim is a claim and where it is kept.
type owedClaim struct {
	Claim
	key string
}

// claims lists what the user owes, the oldest first.
func (b *book) claims(ctx context.Context) ([]owedClaim, error) {
	found, err := b.tx.Scan(ctx, plugin.Range{Prefix: "c/" + b.user + "/"})
	if err != nil {
		return nil, err
	}
	out := make([]owedClaim, len(found))
	for i, e := range found {
		if err := json.Unmarshal(e.Value, &out[i].Claim); err != nil {
			return nil, fmt.Errorf("decode claim: %w", err)
		}
		out[i].key = e.Key
	}
	return out, nil
}

// pay pays a claim as far as the account can.
func (b *book) pay(ctx context.Context, c owedClaim) error {
	paid := min(c.Amount, b.Available)
	c.Amount -= paid
	b.Available -= paid
	b.Spent += paid
	b.Owed -= paid
	if err := b.enter(ctx, "payment", paid, c.ID); err != nil {
		return err
	}
	if c.Amount > 0 {
		return put(ctx, b.tx, c.key, c.Claim)
	}
	return b.tx.Delete(ctx, c.key)
}

// grant adds credits, once for a key; it tells whether this was the time.
func (b *book) grant(ctx context.Context, key string, amount int64, note string) (bool, error) {
	if amount <= 0 || amount > MaxAmount || b.Granted+amount > maxTotal {
		return false, errBounds
	}
	if fresh, err := b.once(ctx, key, granted(amount), 0); err != nil || !fresh {
		return false, err
	}
	b.Granted += amount
	b.Available += amount
	return true, b.enter(ctx, "grant", amount, note)
}

// granted marks a grant with its amount.
func granted(amount int64) []byte { return strconv.AppendInt([]byte{'='}, amount, 10) }

// Grant adds credits, once for a key. The key of a grant of another amount is
// refused with ErrReused: who counts on either would be wrong.
func (l *Ledger) Grant(ctx context.Context, did string, amount int64, key, note string) (Account, error) {
	return l.change(ctx, did, func(ctx context.Context, b *book) error {
		fresh, err := b.grant(ctx, "grant "+key, amount, note)
		if err != nil || fresh {
			return err
		}
		mark, _, err := b.tx.Get(ctx, b.doneKey("grant "+key))
		// Marks of older versions have no amount.
		if err == nil && len(mark) > 1 && !bytes.Equal(mark, granted(amount)) {
			err = ErrReused
		}
		return err
	})
}

// Hold sets aside up to want credits, at least least, until they are settled or
// ttl has passed. A hold that exists already is kept as it is.
func (l *Ledger) Hold(ctx context.Context, did, id string, least, want int64, ttl time.Duration) (Account, error) {
	return l.change(ctx, did, func(ctx context.Context, b *book) error {
		if least < 0 || want < least || want > MaxAmount {
			return errBounds
		}
		if err := b.releaseExpired(ctx); err != nil {
			return err
		}
		var h hold
		if there, err := load(ctx, b.tx, "h/"+b.user+"/"+hashed(id), &h); err != nil || there {
			return err
		}
		if b.Available < max(least, 1) {
			return ErrShort
		}
		h = hold{Amount: min(want, b.Available), Expires: b.tx.Now().Add(ttl).UnixMilli()}
		b.Available -= h.Amount
		b.Held += h.Amount
		if err := put(ctx, b.tx, "h/"+b.user+"/"+hashed(id), h); err != nil {
			return err
		}
		return b.tx.Put(ctx, expiryKey(h.Expires, b.user, hashed(id)), []byte{1}, 0)
	})
}

// Settle ends a hold, if it is still there, and books what was really used,
// once for a key. What the account cannot pay becomes a claim.
func (l *Ledger) Settle(ctx context.Context, did, id, key string, used int64, note string) (Account, error) {
	return l.change(ctx, did, func(ctx context.Context, b *book) error {
		if used < 0 || used > MaxAmount {
			return errBounds
		}
		if fresh, err := b.once(ctx, "settle "+key, []byte{1}, settledFor); err != nil || !fresh {
			return err
		}
		var h hold
		there, err := load(ctx, b.tx, "h/"+b.user+"/"+hashed(id), &h)
		if err != nil {
			return err
		}
		if there {
			if err := b.release(ctx, hashed(id), h); err != nil {
				return err
			}
		}
		if used == 0 {
			return nil
		}
		paid := min(used, b.Available)
		b.Available -= paid
		b.Spent += paid
		if err := b.enter(ctx, "use", used, note); err != nil || paid == used {
			return err
		}
		b.Owed += used - paid
		return put(ctx, b.tx, fmt.Sprintf("c/%s/%016d", b.user, b.Entries), Claim{
			ID: claimID(did, key), Amount: used - paid, DID: did, At: b.tx.Now().UTC().Format(time.RFC3339Nano),
		})
	})
}

// Release ends a hold of which nothing was used. A hold that is not there, or
// not any more, is fine.
func (l *Ledger) Release(ctx context.Context, did, id string) error {
	_, err := l.change(ctx, did, func(ctx context.Context, b *book) error {
		var h hold
		if there, err := load(ctx, b.tx, "h/"+b.user+"/"+hashed(id), &h); err != nil || !there {
			return err
		}
		return b.release(ctx, hashed(id), h)
	})
	return err
}

// Follow makes the account follow the total that a subscription service says:
// more than before is granted, less was spent elsewhere. What turns hold or have
// spent here is not touched, and no account becomes negative. What the service
// was asked for earlier than what the account follows is not news.
func (l *Ledger) Follow(ctx context.Context, did string, total int64, asked time.Time) (Account, error) {
	return l.change(ctx, did, func(ctx context.Context, b *book) error {
		if asked.UnixMilli() <= b.Followed {
			return nil
		}
		b.Followed = asked.UnixMilli()
		total = min(max(total, 0), MaxAmount)
		more := total - b.Subscribed
		if b.Subscribed = total; more == 0 {
			return nil
		}
		if more > 0 {
			if b.Granted+more > maxTotal {
				return errBounds
			}
			b.Granted += more
			b.Available += more
			return b.enter(ctx, "grant", more, "subscription")
		}
		gone := min(-more, b.Available)
		if gone == 0 {
			return nil
		}
		b.Available -= gone
		b.Spent += gone
		return b.enter(ctx, "elsewhere", gone, "subscription")
	})
}

// claimID is the same for the same use, however often it is booked.
func claimID(did, key string) string { return "claim_" + hashed(did+":"+key) }

// releaseExpired puts the expired holds of one user back.
func (l *Ledger) releaseExpired(ctx context.Context, user string) error {
	_, err := l.changeAs(ctx, "", user, func(ctx context.Context, b *book) error { return b.releaseExpired(ctx) })
	return err
}

// Sweep puts expired holds of all users back. It is the way in which credits
// come back when the node that held them died.
func (l *Ledger) Sweep(ctx context.Context) error {
	var now time.Time
	if err := l.store.Update(ctx, func(_ context.Context, tx plugin.Tx) error { now = tx.Now(); return nil }); err != nil {
		return err
	}
	for after := ""; ; {
		page, err := l.store.Scan(ctx, plugin.Range{Prefix: "x/", After: after, Limit: 200})
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Key > fmt.Sprintf("x/%016d/~", now.UnixMilli()) {
				return nil
			}
			if part := strings.Split(e.Key, "/"); len(part) == 4 {
				if err := l.releaseExpired(ctx, part[2]); err != nil {
					return err
				}
			}
			after = e.Key
		}
		if len(page) == 0 {
			return nil
		}
	}
}

// Read returns an account, its claims and its latest entries.
func (l *Ledger) Read(ctx context.Context, did string, entries int) (Account, []Claim, []Entry, error) {
	a, claims, last, err := l.read(ctx, did, entries)
	return a.Account, claims, last, err
}

func (l *Ledger) read(ctx context.Context, did string, entries int) (kept, []Claim, []Entry, error) {
	user := plugin.UserKey(did)
	var a kept
	if _, err := load(ctx, l.store, "a/"+user, &a); err != nil {
		return a, nil, nil, err
	}
	claims, last := []Claim{}, []Entry{}
	if a.Owed > 0 {
		found, err := l.store.Scan(ctx, plugin.Range{Prefix: "c/" + user + "/", Limit: maxClaims})
		if err != nil {
			return a, nil, nil, err
		}
		if claims, err = all[Claim](found); err != nil {
			return a, nil, nil, err
		}
	}
	if entries > 0 {
		found, err := l.store.Scan(ctx, plugin.Range{Prefix: "e/" + user + "/", Limit: entries, Reverse: true})
		if err != nil {
			return a, nil, nil, err
		}
		if last, err = all[Entry](found); err != nil {
			return a, nil, nil, err
		}
	}
	return a, claims, last, nil
}

func all[T any](entries []plugin.Entry) ([]T, error) {
	out := make([]T, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &out[i]); err != nil {
			return nil, fmt.Errorf("decode record: %w", err)
		}
	}
	return out, nil
}
