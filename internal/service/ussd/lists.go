package ussd

import (
	"context"
	"log/slog"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// list does what an action asks of a list: it shows rows, or takes one that was shown.
func (h *hop) list(ctx context.Context, call string,
	do func(ussdlist.Ask, context.Context) (string, map[string]string, error),
) (string, map[string]string, error) {
	name, l := h.menu.List(call)
	st, from := h.next.State, h.svc.cfg.Lists
	ask := ussdlist.Ask{From: from, Name: name, List: l, Language: st.Lang, Vars: st.Vars, Screen: h.menu}
	outcome, set, err := do(ask, ctx)
	if err != nil {
		h.svc.cfg.Logger.WarnContext(ctx, "a list was not read for a telephone", slog.String("event", "ussd.list_failed"), slog.Any("error", err))
	}
	return outcome, set, nil
}
