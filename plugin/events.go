package plugin

import "context"

// Event is something that happened to a user, for the programs that the user
// lets the oracle tell (webhooks).
type Event struct {
	UserDID string
	// Type is one of the oracle's event types, such as "credits.low".
	Type string
	// Data is JSON that names things by ids; secrets and what somebody said do not
	// belong there.
	Data any
}

// EventTx is what the Tx of a host has that tells of events.
type EventTx interface {
	Emit(ctx context.Context, e Event) error
}

// Emit reports an event as part of a transaction: it is told if that commits,
// and not otherwise. A host without events hears nothing.
func Emit(ctx context.Context, tx Tx, e Event) error {
	if host, ok := tx.(EventTx); ok {
		return host.Emit(ctx, e)
	}
	return nil
}
