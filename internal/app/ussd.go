package app

import (
	"context"
	"fmt"
	"os"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// buildUSSD makes the telephone gateway. Its menu asks the others, where this
// node has them.
func (a *App) buildUSSD(talking *oraclePart, queries *queryPart) (part, error) {
	s := a.opt.Settings.USSD
	keys, err := pinKeys(s)
	if err != nil {
		return part{}, err
	}
	limits, err := ussd.ParseLimits(s.ScreenLimit)
	if err != nil {
		return part{}, fmt.Errorf("USSD_SCREEN_LIMIT: %w", err)
	}
	menu, err := firstMenu(s.Menu, limits.Least())
	if err != nil {
		return part{}, err
	}
	cfg := ussd.Config{
		Keys: keys, Menu: menu, Limits: limits, TTL: s.SessionTTL, ResumeWindow: s.ResumeWindow,
		Observer: ussdhttp.NewMetrics(a.res.metrics), Logger: a.opt.Log, Now: a.res.now,
	}
	if talking != nil {
		cfg.Oracle = telephoneOracle{talking.talks, a.opt.Settings.Identity.OracleKey, a.allowances().questions}
		cfg.GuideOnly = a.documents.Models.Value().GuideOnly()
	}
	if queries != nil {
		cfg.LookUp = telephoneLookUp{queries.gateway, ownPrefix(a.opt.Settings.Query.Prefixes)}
	}
	svc, err := ussd.New(ussdsql.New(a.res.db), cfg)
	if err != nil {
		return part{}, err
	}
	workers := map[string]func(context.Context) error{"sessions": svc.Run}
	if s.Menu != "" {
		workers["menu"] = func(ctx context.Context) error { return svc.WatchMenu(ctx, s.Menu) }
	}
	return part{
		name: "ussd",
		surfaces: []httpserver.Surface{
			ussdhttp.Surface(svc, ussdhttp.Deps{Limiter: a.limits.telephone, Logger: a.opt.Log}),
			ussdhttp.Operators(svc, a.opt.Log),
		},
		workers: workers,
	}, nil
}

func pinKeys(s config.USSD) (*ussdpin.Keys, error) {
	old := make([][]byte, 0, len(s.PINKeysOld))
	for _, key := range s.PINKeysOld {
		old = append(old, key)
	}
	keys, err := ussdpin.NewKeys(s.PINKey, old...)
	if err != nil {
		return nil, fmt.Errorf("PIN_ENCRYPTION_KEY: %w", err)
	}
	return keys, nil
}

// firstMenu reads the operator's menu; without one the built-in menu serves.
func firstMenu(file string, least ussdmenu.Limit) (*ussdmenu.Menu, error) {
	if file == "" {
		return ussd.DefaultMenu()
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("USSD_MENU: %w", err)
	}
	menu, err := ussd.ParseMenu(file, source, least)
	if err != nil {
		return nil, fmt.Errorf("USSD_MENU: %w", err)
	}
	return menu, nil
}
