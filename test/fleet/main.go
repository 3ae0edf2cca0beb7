// Command fleet is the program in the shape of a fleet, for tests that only know the
// program: what is started by "fleet serve" is three nodes on PostgreSQL, S3 and NATS
// behind one address, which hands requests round. Every other command is the program's
// own. CASTALIA_REAL is the program; go run ./test/services gives the servers.
//
// The nodes die with it. Started again on the same data folder they are the same fleet,
// so that a killed fleet is a killed program to whoever tests that.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/testenv"
)

const (
	nodes     = 3
	waitLimit = time.Minute
)

func main() {
	program := os.Getenv("CASTALIA_REAL")
	if program == "" {
		fatal(errors.New("CASTALIA_REAL must name the program"))
	}
	if len(os.Args) != 2 || os.Args[1] != "serve" {
		fatal(syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ()))
	}
	// Nodes die with the thread that started them: keep it.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, program); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	_, _ = fmt.Fprintln(os.Stderr, "fleet:", err)
	os.Exit(1)
}

// stores are what the nodes share.
type stores struct {
	Database, Objects string
}

// serve runs the fleet until it is told to stop.
func serve(ctx context.Context, program string) error {
	data := os.Getenv("CASTALIA_DATA")
	shared, err := storesOf(ctx, data)
	if err != nil {
		return err
	}
	bus, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	go bus.Start()
	defer bus.Shutdown()
	if !bus.ReadyForConnections(waitLimit) {
		return errors.New("NATS does not start")
	}
	front := net.JoinHostPort("127.0.0.1", os.Getenv("PORT"))
	env := append([]string{"PUBLIC_URL=http://" + front}, os.Environ()...) // unless the test knows better
	env = append(env, "DATABASE_URL="+shared.Database, "BLOB_URL="+shared.Objects, "NATS_URL="+bus.ClientURL(),
		"ORACLE_KEY="+key(1), "PIN_ENCRYPTION_KEY="+key(2), "FILES_MASTER_KEY="+key(3))
	var all []*httputil.ReverseProxy
	var running []*exec.Cmd
	for i := range nodes {
		port, release, err := servers.Port()
		if err != nil {
			return err
		}
		defer release()
		at := &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		node := exec.Command(program, "serve")
		node.Env = append(slices.Clip(env), fmt.Sprintf("PORT=%d", port), "NODE_URL="+at.String(),
			"CASTALIA_DATA="+filepath.Join(data, strconv.Itoa(i)))
		node.Stdout, node.Stderr = os.Stdout, os.Stderr
		servers.DieWithUs(node, syscall.SIGKILL)
		if err := node.Start(); err != nil {
			return fmt.Errorf("start node %d: %w", i, err)
		}
		running = append(running, node)
		all = append(all, &httputil.ReverseProxy{
			FlushInterval: -1, // streams are streams
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(at)
				r.SetXForwarded()
				r.Out.Host = r.In.Host
			},
			ErrorLog: nil,
		})
		if err := ready(ctx, at.String()+"/ready"); err != nil { // one after the other: the first makes the tables
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	web := &http.Server{Addr: front, Handler: round(all), ReadHeaderTimeout: waitLimit}
	failed := make(chan error, 1)
	go func() { failed <- web.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	_ = web.Close()
	for _, node := range running {
		_ = node.Process.Signal(syscall.SIGTERM)
	}
	for i, node := range running {
		if err := node.Wait(); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

// storesOf are a database and a bucket of the fleet's own, the same after a restart.
func storesOf(ctx context.Context, data string) (shared stores, err error) {
	note := filepath.Join(data, "fleet.json")
	raw, err := os.ReadFile(note)
	if err == nil {
		return shared, json.Unmarshal(raw, &shared)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return shared, err
	}
	address := os.Getenv("TEST_POSTGRES_URL")
	if address == "" || os.Getenv("TEST_S3_URL") == "" {
		return shared, errors.New("TEST_POSTGRES_URL and TEST_S3_URL must name servers: see test/services")
	}
	if shared.Database, err = pgadmin.Create(ctx, address, "castalia_fleet_"+strings.ToLower(testenv.Token())); err != nil {
		return shared, err
	}
	bucket, _, err := testenv.NewBucket(ctx) // it goes with its server
	if err != nil {
		return shared, err
	}
	shared.Objects = bucket.URL()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return shared, err
	}
	raw, err = json.Marshal(shared)
	if err != nil {
		return shared, err
	}
	return shared, os.WriteFile(note, raw, 0o600)
}

func key(n byte) string { return strings.Repeat(hex.EncodeToString([]byte{n}), 32) }

// ready waits until a node says that it is.
func ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		if reply, err := http.DefaultClient.Do(request); err == nil {
			_ = reply.Body.Close()
			if reply.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

// round hands requests to one node after the other.
func round(all []*httputil.ReverseProxy) http.Handler {
	var turn atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all[turn.Add(1)%uint64(len(all))].ServeHTTP(w, r)
	})
}
