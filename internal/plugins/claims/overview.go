package claims

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Failed is the state of a claim that was put aside: nothing happens until an operator has it
// tried again.
const Failed State = "failed"

// Owed is a claim as operators see it.
type Owed struct {
	ID     string `json:"id"`
	DID    string `json:"did"`
	Amount int64  `json:"amount"`
	State  State  `json:"state"`
	At     string `json:"at,omitempty"`
	// SubmittedAt is when the registry had it.
	SubmittedAt string `json:"submittedAt,omitempty"`
	// Attempts, Step (submit or settle) and Reason say of a failed one what could not be done, and why.
	Attempts int    `json:"attempts,omitempty"`
	Step     string `json:"step,omitempty"`
	Reason   string `json:"reason,omitempty"`
	FailedAt string `json:"failedAt,omitempty"`
}

// Overview is a page of what is owed, of all users, in a fixed order: what is outstanding and what was
// submitted, behind a cursor. It reads as many rows as it returns, and a record for each.
func (p *Plugin) Overview(ctx context.Context, after string, limit int) (page []Owed, next string, err error) {
	ledger, err := p.ledger(ctx)
	if err != nil {
		return nil, "", err
	}
	list, next, err := ledger.Outstanding(ctx, after, limit)
	if err != nil {
		return nil, "", err
	}
	if len(list) < limit {
		next = ""
	}
	for _, c := range list {
		one := Owed{ID: c.ID, DID: c.UserDID, Amount: c.Amount, State: Outstanding, At: stamp(c.At)}
		value, known, err := p.store.Get(ctx, key(c.UserDID, c.ID))
		if err != nil {
			return nil, "", err
		}
		if known {
			var rec record
			if err := json.Unmarshal(value, &rec); err != nil {
				return nil, "", fmt.Errorf("decode claim: %w", err)
			}
			one.State, one.SubmittedAt = rec.State, rec.SubmittedAt
		}
		page = append(page, one)
	}
	return page, next, nil
}

// PutAside is a page of claims that failed, with why, behind a cursor.
func (p *Plugin) PutAside(ctx context.Context, after string, limit int) (page []Owed, next string, err error) {
	from, last, _ := strings.Cut(after, "/")
	for _, step := range []string{"submit", "settle"} {
		if step == "submit" && from == "settle" {
			continue
		}
		if step != from {
			last = ""
		}
		items, err := p.queues()[step].Buried(ctx, last, limit-len(page))
		if err != nil {
			return nil, "", err
		}
		for _, it := range items {
			var rec record
			if err := it.Decode(&rec); err != nil {
				return nil, "", err
			}
			page = append(page, Owed{
				ID: it.ID, DID: rec.DID, Amount: rec.Amount, State: Failed, At: rec.At, SubmittedAt: rec.SubmittedAt,
				Attempts: it.Attempt, Step: step, Reason: it.Error, FailedAt: stamp(it.Due),
			})
		}
		if len(page) == limit {
			return page, step + "/" + page[limit-1].ID, nil
		}
	}
	return page, "", nil
}

// TryAgain gives a claim that was put aside all its tries again. It reports false when it was not.
func (p *Plugin) TryAgain(ctx context.Context, id string) (bool, error) {
	again := false
	for _, q := range p.queues() {
		found, err := q.Requeue(ctx, id)
		if err != nil {
			return false, err
		}
		again = again || found
	}
	return again, nil
}
