package app

import (
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdgate"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

// gateways is what the settings say of telecom gateways.
type gateways struct {
	dialects []*ussddialect.Dialect
	screens  ussdmenu.Limits
	gate     *ussdgate.Gate // nil lets everybody call
}

func readGateways(s config.USSD) (g gateways, err error) {
	if g.dialects, err = ussddialect.Load(s.Dialects); err != nil {
		return g, fmt.Errorf("USSD_DIALECTS: %w", err)
	}
	if g.screens, err = ussd.ParseLimits(s.ScreenLimit, ussddialect.Names(g.dialects)...); err != nil {
		return g, fmt.Errorf("USSD_SCREEN_LIMIT: %w", err)
	}
	if s.Gateways != "" {
		if g.gate, err = ussdgate.Read(s.Gateways, append(ussd.Dialects(), ussddialect.Names(g.dialects)...)); err != nil {
			return g, fmt.Errorf("USSD_GATEWAYS: %w", err)
		}
	}
	return g, nil
}

// gatewayDeps is what the routes of gateways need.
func (a *App) gatewayDeps() ussdhttp.Deps {
	return ussdhttp.Deps{Limiter: a.limits.telephone, Logger: a.opt.Log, Dialects: a.dialects, Gate: a.gate}
}
