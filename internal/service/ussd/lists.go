package ussd

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
)

// Lists finds rows of lists. It is asked within a hop, and must not wait for long.
type Lists interface {
	FindRows(ctx context.Context, l ussdlist.List, language, text string) (rows []string, found int, err error)
}

// readList finds the rows of a list that have the word that the caller typed. They are
// the session's from then on: its pages do not move when the list changes.
func (h *hop) readList(ctx context.Context, call string) (string, map[string]string, error) {
	if h.svc.cfg.Lists == nil {
		return "failed", nil, nil
	}
	rows, found, err := h.svc.cfg.Lists.FindRows(ctx, h.menu.List(call), h.next.State.Lang, h.next.State.Vars["word"])
	switch {
	case err != nil:
		h.svc.cfg.Logger.WarnContext(ctx, "a list was not read for a telephone", slog.String("event", "ussd.list_failed"), slog.Any("error", err))
		return "failed", nil, nil
	case found == 0:
		return "none", nil, nil
	}
	return "ok", map[string]string{"rows": strings.Join(h.menu.Fitting("rows", rows), "\n"), "found": strconv.Itoa(found)}, nil
}
