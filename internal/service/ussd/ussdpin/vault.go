package ussdpin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// Cost is the price of one slow hash. The zero value is the default.
type Cost struct {
	Time      uint32 // passes
	MemoryKiB uint32
}

func (c Cost) orDefault() Cost {
	if c.Time == 0 || c.MemoryKiB == 0 {
		return Cost{Time: 2, MemoryKiB: 19 * 1024}
	}
	return c
}

const (
	pinSalt = 16
	pinHash = 32
	// pinRecord is time, memory, salt and hash.
	pinRecord = 8 + pinSalt + pinHash
)

// Vault hashes and checks PINs, a few at a time: the slow hash must not take
// the processors from everybody who only reads menus.
type Vault struct {
	keys  *Keys
	cost  Cost
	slots chan struct{}
}

// NewVault returns a vault that runs so many slow hashes at once.
func NewVault(keys *Keys, cost Cost, slots int) *Vault {
	return &Vault{keys: keys, cost: cost.orDefault(), slots: make(chan struct{}, max(1, slots))}
}

// Turn waits until a slow hash may run. Whoever has the turn may count on being
// done soon, and calls done then.
func (v *Vault) Turn(ctx context.Context) (done func(), err error) {
	select {
	case v.slots <- struct{}{}:
		return func() { <-v.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to hash: %w", ctx.Err())
	}
}

// hashPIN is the slow hash; whoever calls it has a turn.
func hashPIN(pin string, salt []byte, cost Cost) []byte {
	return argon2.IDKey([]byte(pin), salt, cost.Time, cost.MemoryKiB, 1, pinHash)
}

// Seal makes the stored form of a PIN of an account, in a turn.
func (v *Vault) Seal(ctx context.Context, account, pin string) ([]byte, error) {
	key, err := v.keys.sealing(ctx)
	if err != nil {
		return nil, err
	}
	record := make([]byte, 8+pinSalt, pinRecord)
	binary.BigEndian.PutUint32(record, v.cost.Time)
	binary.BigEndian.PutUint32(record[4:], v.cost.MemoryKiB)
	_, _ = rand.Read(record[8:]) // never fails, by its contract
	return key.seal(account, append(record, hashPIN(pin, record[8:8+pinSalt], v.cost)...)), nil
}

// Check reports, in a turn, whether the PIN is right, and whether its stored
// form should be made anew because the key or the cost changed.
func (v *Vault) Check(account string, sealed []byte, pin string) (right, renew bool, err error) {
	record, fresh, err := v.keys.open(account, sealed)
	if err != nil {
		return false, false, err
	}
	if len(record) != pinRecord {
		return false, false, errors.New("stored PIN has the wrong size")
	}
	cost := Cost{Time: binary.BigEndian.Uint32(record), MemoryKiB: binary.BigEndian.Uint32(record[4:])}
	if cost.Time == 0 || cost.Time > 64 || cost.MemoryKiB > 1<<20 {
		return false, false, errors.New("stored PIN has an impossible cost")
	}
	sum := hashPIN(pin, record[8:8+pinSalt], cost)
	right = subtle.ConstantTimeCompare(sum, record[8+pinSalt:]) == 1
	return right, !fresh || cost != v.cost, nil
}

// Waste takes the time of a check, in a turn, so that an unknown account cannot
// be told from a wrong PIN.
func (v *Vault) Waste(pin string) { hashPIN(pin, make([]byte, pinSalt), v.cost) }

// Reseal encrypts a stored PIN under the newest key, without knowing the PIN. It
// returns nil for one that is under that key already.
func (v *Vault) Reseal(account string, sealed []byte) ([]byte, error) {
	record, fresh, err := v.keys.open(account, sealed)
	if err != nil || fresh {
		return nil, err
	}
	return v.keys.seal(account, record), nil
}
