package addresskit

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/lease"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/trouble"
)

// Deps is what HTTPS is served with.
type Deps struct {
	Settings config.Server
	Key      []byte
	DB       *sqldb.DB
	Leases   *lease.Keeper
	// Secure opens the port.
	Secure func(ctx context.Context, addr string, how *tls.Config, plain Plain) error
	Log    *slog.Logger
}

// Plain answers requests that came without TLS: see httpserver.Config.
type Plain = func(http.ResponseWriter, *http.Request) bool

// Open opens the port of HTTPS where there are names for it, and returns what keeps their
// certificates and who watches them. Names that operators stored keep no program from starting, or
// whoever chose them in a browser could not take them back there.
func (d *Admin) Open(ctx context.Context,
	with Deps,
) (workers map[string]func(context.Context) error, watched *causes.Part, err error) {
	if len(d.Started.HTTPS) == 0 {
		return nil, nil, nil
	}
	if d.HTTPS, err = d.secure(ctx, with); err == nil {
		return map[string]func(context.Context) error{"certificates": d.HTTPS.Run},
			&causes.Part{Name: "https", Look: d.HTTPS.Troubles}, nil
	}
	if d.Now.State().ReadOnly() {
		return nil, nil, err
	}
	d.Problem = err.Error()
	with.Log.Warn("HTTPS is not served", slog.String("event", "https.closed"), slog.Any("error", err))
	return nil, &causes.Part{Name: "https", Look: func(context.Context) []*trouble.Trouble {
		if len(d.names()) == 0 {
			return nil
		}
		return []*trouble.Trouble{trouble.New("health.httpsClosed", nil).With(d.Problem)}
	}}, nil
}

func (d *Admin) secure(ctx context.Context, with Deps) (*autohttps.HTTPS, error) {
	s := with.Settings
	https, err := autohttps.New(autohttps.Config{
		Names: d.names, Email: s.ACMEEmail, Directory: s.ACMEDirectory.Reveal(), CAFile: s.ACMECAFile,
		Port: s.HTTPSPort, Key: with.Key, Log: with.Log,
	})
	if err != nil {
		return nil, err
	}
	https.Use(with.DB, with.Leases)
	err = with.Secure(ctx, net.JoinHostPort(s.Host, strconv.Itoa(s.HTTPSPort)), https.TLS(), https.Plain)
	if err != nil {
		return nil, err
	}
	return https, nil
}

// names are those that are served now.
func (d *Admin) names() []string { return d.Now.Value().HTTPS }
