package instructions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/identity/recent"
	"github.com/castalia-org/castalia/plugin"
)

const (
	// keptFor is how long a conversation that nobody continues keeps its
	// instructions; after that it goes on with those in force.
	keptFor = 90 * 24 * time.Hour
	// rememberedSessions bounds what a node remembers.
	rememberedSessions = 10_000
)

// Keeper says which instructions a conversation has: those with which it began,
// or those that were in force when it was last summarised, since a summary is
// another beginning anyway. When there are none in force, no conversation has any.
type Keeper struct {
	inForce func() Instructions
	store   plugin.Store
	log     *slog.Logger
	known   *recent.Map[string, pinned]
}

// pinned is what a conversation has.
type pinned struct {
	through int64
	prompt  string
}

// pin is how it is stored; the prompt stands elsewhere, since many have the same.
type pin struct {
	Through int64  `json:"through"`
	Digest  string `json:"digest"`
}

// NewKeeper returns a keeper of what is in force. The store is its own.
func NewKeeper(inForce func() Instructions, store plugin.Store, log *slog.Logger) *Keeper {
	return &Keeper{inForce: inForce, store: store, log: log, known: recent.New[string, pinned](rememberedSessions)}
}

// Openings are the questions that are suggested now.
func (k *Keeper) Openings() []Opening { return k.inForce().Openings }

// Prompt is what the model is told in a conversation that was summarised up to
// the turn through; a negative one says that it was cut short for once. It never
// fails a turn: what cannot be looked up is what is in force.
func (k *Keeper) Prompt(ctx context.Context, session string, through int64) string {
	current := k.inForce().Prompt
	if current == "" {
		return ""
	}
	if known, ok := k.known.Get(session, time.Time{}); ok && (known.through == through || through < 0) {
		return known.prompt
	}
	if through < 0 {
		return current
	}
	has, err := k.settle(ctx, session, pinned{through, current})
	if err != nil {
		k.log.Warn("which instructions a conversation has could not be looked up; those in force are used", slog.String("event", "instructions.lookup_failed"), slog.Any("error", err))
		return current
	}
	k.known.Put(session, has, time.Time{}, 1)
	return has.prompt
}

// settle finds what the conversation has, or gives it what is in force.
func (k *Keeper) settle(ctx context.Context, session string, offered pinned) (pinned, error) {
	has, ok, err := k.look(ctx, k.store, session, offered.through)
	if err != nil || ok {
		return has, err
	}
	digest := digestOf(offered.prompt)
	value, err := json.Marshal(pin{offered.through, digest})
	if err != nil {
		return pinned{}, fmt.Errorf("write pin: %w", err)
	}
	err = k.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		if has, ok, err = k.look(ctx, tx, session, offered.through); err != nil || ok {
			return err // another node was faster
		}
		has = offered
		if err := tx.Put(ctx, textKey(digest), []byte(offered.prompt), 2*keptFor); err != nil {
			return err
		}
		return tx.Put(ctx, pinKey(session), value, keptFor)
	})
	return has, err
}

// look reads what a conversation has since it was last summarised.
func (k *Keeper) look(ctx context.Context, from interface {
	Get(ctx context.Context, key string) ([]byte, bool, error)
}, session string, through int64,
) (pinned, bool, error) {
	value, ok, err := from.Get(ctx, pinKey(session))
	if err != nil || !ok {
		return pinned{}, false, err
	}
	var p pin
	if err := json.Unmarshal(value, &p); err != nil {
		return pinned{}, false, fmt.Errorf("read pin: %w", err)
	}
	if p.Through != through {
		return pinned{}, false, nil
	}
	prompt, ok, err := from.Get(ctx, textKey(p.Digest))
	return pinned{through, string(prompt)}, ok, err
}

func pinKey(session string) string { return "session/" + digestOf(session) }

func textKey(digest string) string { return "text/" + digest }

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
