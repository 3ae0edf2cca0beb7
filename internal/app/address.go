package app

import (
	"fmt"
	"net/netip"
	"net/url"

	"github.com/castalia-org/castalia/internal/platform/config"
)

// checkPublicURL refuses what links cannot begin with.
func checkPublicURL(setting config.URL) error {
	if !setting.Given() {
		return nil
	}
	u, err := url.Parse(setting.Reveal())
	web := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !web || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("PUBLIC_URL: given %q, allowed is an address such as https://castalia.example", setting)
	}
	return nil
}

// proxies are the networks whose word about clients is believed.
func (a *App) proxies() []netip.Prefix {
	if !a.opt.Settings.Server.TrustProxy {
		return nil
	}
	return a.opt.Settings.Server.TrustedProxies
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
