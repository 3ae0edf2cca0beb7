package app

import "net/netip"

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
