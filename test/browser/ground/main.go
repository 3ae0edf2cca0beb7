// Command ground makes what a fleet stands on, for browser tests: a database and
// a bucket on the servers that TEST_POSTGRES_URL and TEST_S3_URL name, a NATS
// server of its own, and keys that guard nothing. It prints the settings of the
// fleet as one line of JSON and takes everything away when its input ends.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/test/testenv"
)

// startLimit is how long servers may take.
const startLimit = time.Minute

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "ground:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	databases := os.Getenv("TEST_POSTGRES_URL")
	if databases == "" || os.Getenv("TEST_S3_URL") == "" {
		return errors.New("a fleet needs TEST_POSTGRES_URL and TEST_S3_URL: run it by `go run ./test/services -- …`")
	}
	name := "castalia_browser_" + testenv.Token()
	database, err := pgadmin.Create(ctx, databases, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pgadmin.Drop(context.WithoutCancel(ctx), databases, name)) }()
	bucket, remove, err := testenv.NewBucket(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx))) }()
	bus, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		return fmt.Errorf("make NATS: %w", err)
	}
	bus.Start()
	defer bus.Shutdown()
	if !bus.ReadyForConnections(startLimit) {
		return errors.New("NATS did not start in time")
	}
	line, err := json.Marshal(map[string]string{
		"DATABASE_URL": database, "BLOB_URL": bucket.URL(), "AWS_ACCESS_KEY_ID": bucket.AccessKey, "AWS_SECRET_ACCESS_KEY": bucket.SecretKey,
		"NATS_URL": bus.ClientURL(), "ORACLE_KEY": key(1), "PIN_ENCRYPTION_KEY": key(2), "FILES_MASTER_KEY": key(3),
	})
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
		return fmt.Errorf("print settings: %w", err)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// key is a key of 64 hexadecimal digits.
func key(n byte) string { return hex.EncodeToString(bytes.Repeat([]byte{n}, 32)) }
