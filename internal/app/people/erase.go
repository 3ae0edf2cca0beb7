package people

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
)

// Holding is something that the deployment keeps of people.
type Holding struct {
	// Name is what the receipt calls it.
	Name string
	// Erase destroys some of what it has of a DID and says whether there may be more. Doing
	// it again is fine.
	Erase func(ctx context.Context, did string) (n int64, more bool, err error)
	// Lost, which may be nil, looks at what Erase would destroy next.
	Lost func(ctx context.Context, did string) (Looked, error)
	// Return, which may be nil, gives back at other services what Erase forgets here, in
	// seconds, and names what it could not.
	Return func(ctx context.Context, did string) (left []string, err error)
}

// Looked is what a look at something came to, before it is erased.
type Looked struct {
	// Lost names what is gone already.
	Lost []string
	// Unseen is how much may be gone or not: nobody could look in time.
	Unseen int64
}

// NewErasure is the body of POST /operator/people/{did}/erase.
type NewErasure struct {
	Confirm string `json:"confirm" doc:"The end of the DID, at least its last six characters."`
}

// Receipt is what erasing a person came to.
type Receipt struct {
	DID string    `json:"did"`
	At  time.Time `json:"at"`
	By  string    `json:"by"`
	// Erased is how much this request erased of what.
	Erased map[string]int64 `json:"erased"`
	// Lost names archived conversations that the archive had lost before they were erased.
	Lost []string `json:"lost,omitempty"`
	// Unseen is how many archived conversations were erased without a look whether the archive
	// still had them, because it did not answer in time: they are not among those that were lost.
	Unseen int64 `json:"unseen,omitempty"`
	// Unrevoked says what the person had authorized at other services that was forgotten here
	// and could not be revoked there.
	Unrevoked []string `json:"unrevoked,omitempty"`
	// Done says that nothing is left of it. Otherwise the same request goes on.
	Done bool `json:"done"`
	// Stays says what is left where the erasing does not reach.
	Stays []string `json:"stays"`
}

const (
	// confirmed is how much of a DID's end has to be typed at least.
	confirmed = 6
	// eraseTime is how long one request erases: what is left is for the next one.
	eraseTime = 10 * time.Second
	// erasedNote is that of the block under which somebody is erased.
	erasedNote = "erased"
)

// stays is what no erasing reaches, in a language.
func stays(in *words.Language) []string {
	left := []string{
		"erased.block", "erased.audit", "erased.usage", "erased.backups", "erased.day", "erased.objects", "erased.links",
		"erased.others", "erased.plugins",
	}
	for i, key := range left {
		left[i] = in.Say(key, nil)
	}
	return left
}

func (d Deps) eraseRoute(tags []string, did []httpserver.Param) httpserver.Route {
	return httpserver.Route{
		Method: http.MethodPost, Pattern: "/operator/people/{did}/erase", Auth: httpserver.Operator, Tags: tags,
		Params: slices.Concat(did, []httpserver.Param{
			{Name: wordshttp.Parameter, In: "query", Doc: "The language of what stays, such as `sw`."},
		}),
		Summary: "Erase somebody",
		Doc:     "Blocks them, and destroys their conversations, what plugins remember of them, app keys, webhooks, collections, files and links, each with what search indexes have of it. It works for about ten seconds and says whether it is done: until it is, send the same request again, also after a node died. What stays is said in the language of `language` or `Accept-Language`.",
		Body:    NewErasure{}, Example: map[string]any{"confirm": "ta2doK"}, Replies: []httpserver.Reply{
			{Status: http.StatusOK, Body: Receipt{}},
			{Status: http.StatusConflict, Doc: "They have a role, are the deployment itself, are named by a setting, or this node has not all services."},
		}, Handler: d.erase,
	}
}

func (d Deps) erase(w http.ResponseWriter, r *http.Request) error {
	var body NewErasure
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	did, err := d.named(r)
	if err != nil {
		return err
	}
	by := httpserver.OperatorOf(r.Context()).Name
	if len(body.Confirm) < confirmed || !strings.HasSuffix(did, body.Confirm) {
		return fault.Newf(fault.Invalid, "confirm: given %.80q, allowed is the end of the DID, at least its last %d characters", body.Confirm, confirmed)
	}
	receipt, err := d.Erase(r.Context(), did, by, eraseTime)
	if err != nil {
		return err
	}
	receipt.Stays = stays(wordshttp.Speaker{}.Choose(w, r).Language)
	return httpserver.WriteJSON(w, http.StatusOK, receipt)
}

// Erase destroys what the deployment keeps of a person, for a while: it goes on where it
// was when it is called again, on any node.
func (d Deps) Erase(ctx context.Context, did, by string, long time.Duration) (Receipt, error) {
	if err := d.erasable(ctx, did); err != nil {
		return Receipt{}, err
	}
	// Kept out first: otherwise they would go on making what is erased.
	if err := d.keepOut(ctx, did, by); err != nil {
		return Receipt{}, err
	}
	began := time.Now()
	receipt := Receipt{DID: did, At: began.UTC(), By: by, Erased: map[string]int64{}}
	receipt.Stays = stays(words.Shipped().English())
	defer func() {
		if n := len(receipt.Lost); n > 0 {
			d.Log.WarnContext(ctx, "archived conversations were erased whose objects were lost before", slog.String("event", "people.erase_lost"),
				slog.Int("conversations", n), slog.Any("sessions", receipt.Lost[:min(n, mostNamed)]))
		}
	}()
	for _, h := range d.Holdings {
		for more := true; more; {
			if err := receipt.look(ctx, h, did); err != nil {
				return Receipt{}, err
			}
			if err := receipt.giveBack(ctx, h, did); err != nil {
				return Receipt{}, err
			}
			n, left, err := h.Erase(ctx, did)
			if err != nil {
				return Receipt{}, fmt.Errorf("erase %s: %w", h.Name, err)
			}
			receipt.Erased[h.Name] += n
			if more = left; more && time.Since(began) >= long {
				return receipt, nil
			}
		}
	}
	if _, err := d.Book.SetQuota(ctx, did, membership.Allowance{}, by); err != nil {
		return Receipt{}, err
	}
	d.Quotas.Announce(ctx)
	if err := d.Book.RemoveMember(ctx, did); err != nil && !fault.Is(err, fault.NotFound) {
		return Receipt{}, err
	}
	d.Announce(ctx)
	receipt.Done = true
	return receipt, nil
}

// look notes what a holding has lost of what it erases next.
func (r *Receipt) look(ctx context.Context, h Holding, did string) error {
	if h.Lost == nil {
		return nil
	}
	saw, err := h.Lost(ctx, did)
	if err != nil {
		return fmt.Errorf("look at %s: %w", h.Name, err)
	}
	r.Lost = append(r.Lost, saw.Lost...)
	r.Unseen += saw.Unseen
	return nil
}

// giveBack has a holding give back what it forgets next.
func (r *Receipt) giveBack(ctx context.Context, h Holding, did string) error {
	if h.Return == nil {
		return nil
	}
	left, err := h.Return(ctx, did)
	if err != nil {
		return fmt.Errorf("give back %s: %w", h.Name, err)
	}
	r.Unrevoked = append(r.Unrevoked, left...)
	return nil
}

// keepOut blocks somebody, and waits until no node lets them in and what they began there
// has ended.
func (d Deps) keepOut(ctx context.Context, did, by string) error {
	_, block, err := d.Book.Standing(ctx, did)
	if err != nil || block != nil && time.Since(block.At) >= d.Settles {
		return err
	}
	if block == nil {
		if _, err := d.Book.Block(ctx, did, erasedNote, by); err != nil {
			return err
		}
	}
	d.Announce(ctx)
	settled := time.NewTimer(d.Settles)
	defer settled.Stop()
	select {
	case <-settled.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// erasable refuses whom nobody may erase, and where not everything can be erased.
func (d Deps) erasable(ctx context.Context, did string) error {
	role, err := d.RoleOf(ctx, did)
	switch {
	case err != nil:
		return err
	case did == d.Service:
		return fault.New(fault.Conflict, "This is the deployment itself.")
	case role != operators.None:
		return fault.Newf(fault.Conflict, "They are %s here: an owner takes that away first", role).WithCode("has_role")
	case d.Book.IsNamed(did):
		return fault.New(fault.Conflict, "The DID is named by ACCESS_DIDS: take it out of that setting and restart.").WithCode("named_by_setting")
	}
	return d.allHere(ctx)
}

// allHere refuses where this node has not all that is kept of people.
func (d Deps) allHere(ctx context.Context) error {
	elsewhere, err := d.Elsewhere(ctx)
	if err != nil {
		return err
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		return fault.Newf(fault.Conflict, "This node does not have %s, which keeps something of people: ask a node that has all services", strings.Join(elsewhere, " and ")).
			WithCode("not_all_services")
	}
	return nil
}
