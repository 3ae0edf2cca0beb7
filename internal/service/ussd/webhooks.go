package ussd

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhook"
)

// KeepCall keeps the record of a call, and makes it again later if Again says so.
type KeepCall struct {
	Record any
	Again  bool
}

func (KeepCall) effect() {}

// hopReserve is what a hop needs after the last thing that it waits for, to store what
// came of it and to answer.
const hopReserve = 1500 * time.Millisecond

// callWebhook calls a program and waits a little. What was not answered by then is
// stored with the hop, and sent again under the same id by the outbox, unless the menu
// says that it is of no use later.
func (h *hop) callWebhook(ctx context.Context, call string) (string, map[string]string, error) {
	name, hook := h.menu.Webhook(call)
	set := make(map[string]string, len(hook.Take)) // what an earlier call said is not this one's
	for _, v := range hook.Take {
		set[v] = ""
	}
	if h.svc.cfg.Webhooks == nil {
		return ussdhook.Failed, set, nil
	}
	if err := h.claim(ctx, h.svc.cfg.OracleWait+claimTime); err != nil {
		return "", nil, err
	}
	wait := h.svc.cfg.OracleWait
	if end, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(end)-hopReserve)
	}
	waiting, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	reply, err := h.svc.cfg.Webhooks.CallWebhook(waiting, h.webhookCall(call, name, hook))
	warn := func(why error) {
		h.svc.cfg.Logger.WarnContext(ctx, "a menu's webhook failed", slog.String("event", "ussd.webhook_failed"), slog.String("webhook", name), slog.Any("error", why))
	}
	switch {
	case ctx.Err() != nil:
		return "", nil, fmt.Errorf("call webhook: %w", ctx.Err())
	case err != nil && waiting.Err() != nil && !fault.Is(err, fault.NotFound):
		return "", nil, fmt.Errorf("call webhook: %w", err) // not even looked up in time: nothing is known
	case err != nil:
		warn(err)
		return ussdhook.Failed, set, nil
	}
	outcome, taken, err := hook.Settle(reply, h.menu.Shows)
	if err != nil {
		warn(err)
	}
	maps.Copy(set, taken)
	h.effects = append(h.effects, KeepCall{Record: reply.Record, Again: outcome == ussdhook.Promised})
	return outcome, set, nil
}

// webhookCall is what a program is told. It has the hop's own name: made again after a
// node died, it is the same call.
func (h *hop) webhookCall(call, name string, hook ussdhook.Hook) ussdhook.Call {
	keys, vars := h.svc.cfg.Keys, h.next.State.Vars
	id := keys.Digest("webhook", h.id, fmt.Sprint(h.next.Rev, "/", h.next.Hop), call)
	values := make(map[string]string, len(hook.Send))
	for _, v := range hook.Send {
		values[v] = vars[v]
	}
	return ussdhook.Call{
		Name: name, Hook: hook, ID: ussdhook.CallID(id), At: h.now,
		Data: ussdhook.Data{
			Webhook: name, Caller: keys.Alias(h.req.Phone),
			Account: h.next.Account, Language: h.next.State.Lang, Values: values,
		},
	}
}
