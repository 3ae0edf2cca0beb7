package ussdhttp_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdhttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// serverEnv makes the test binary a server on the database that it names:
// benchmarks measure the server's processor time apart from the client's, and
// tests kill it.
const serverEnv = "USSD_TEST_SERVER"

// menuEnv names the file of its menu; without it the built-in one serves.
const menuEnv = "USSD_TEST_MENU"

func TestMain(m *testing.M) {
	if url := os.Getenv(serverEnv); url != "" {
		if err := serveForTests(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveForTests serves until the standard input ends. It prints its address.
func serveForTests(url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for _, m := range []sqldb.Migrations{ussdsql.Migrations(), bareMigrations()} {
		if err := db.Migrate(ctx, m); err != nil {
			return err
		}
	}
	key, err := hex.DecodeString(ussdtest.Key)
	if err != nil {
		return err
	}
	keys, err := ussdpin.NewKeys(key)
	if err != nil {
		return err
	}
	metrics := telemetry.NewMetrics()
	cfg := ussd.Config{Keys: keys, Observer: ussdhttp.NewMetrics(metrics)}
	if file := os.Getenv(menuEnv); file != "" {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if cfg.Menus, err = ussd.ParseMenus(context.Background(), file, source, ussdmenu.Limits{}); err != nil {
			return err
		}
	}
	svc, err := ussd.New(ussdsql.New(db), cfg)
	if err != nil {
		return err
	}
	server, err := httpserver.New(httpserver.Config{Addr: "127.0.0.1:0", Metrics: metrics})
	if err != nil {
		return err
	}
	for _, s := range []httpserver.Surface{ussdhttp.Surface(svc, ussdhttp.Deps{}), bareSurface(db)} {
		if err := server.Mount(s); err != nil {
			return err
		}
	}
	if err := server.Listen(ctx); err != nil {
		return err
	}
	go func() { _ = svc.Run(ctx) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(server.Addr())
	return server.Run(ctx)
}

// bareSurface is the yardstick: a handler that does one group-committed write of
// a row of the same size and nothing else.
func bareSurface(db *sqldb.DB) httpserver.Surface {
	var n atomic.Int64
	row := make([]byte, 600)
	return httpserver.Surface{Name: "bare", Routes: []httpserver.Route{{
		Method: http.MethodPost, Pattern: "/bare", Auth: httpserver.Public,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
			id := strconv.FormatInt(n.Add(1), 10)
			err := db.Write(r.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO bare_rows (id, body) VALUES ($1, $2)`, id, row)
				return err
			})
			if err != nil {
				return err
			}
			_, err = io.WriteString(w, "CON ok")
			return err
		},
	}}}
}
