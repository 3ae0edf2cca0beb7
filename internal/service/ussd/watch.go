package ussd

import (
	"context"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
)

// followEvery is how soon other menus are seen.
const followEvery = 250 * time.Millisecond

// FollowMenus looks at what now returns until ctx ends, and makes it the menus of the
// sessions that begin from then on.
func (s *Service) FollowMenus(ctx context.Context, now func() *ussdbook.Book) error {
	pace.Every(ctx, followEvery, func() bool {
		if menus := now(); !menus.Same(s.menus.Book()) {
			s.Reload(menus)
			s.cfg.Logger.InfoContext(ctx, "menu reloaded", slog.String("event", "ussd.menu_reloaded"), slog.String("version", menus.Default().Version()))
		}
		return true
	})
	return nil
}
