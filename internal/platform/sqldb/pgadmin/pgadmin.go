// Package pgadmin makes and drops whole PostgreSQL databases, which sqldb, that
// lives inside one, cannot. Tests use it; nothing that serves users does.
//
// It refuses names that would need quoting.
package pgadmin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/jackc/pgx/v5"
)

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Create makes an empty database on the server that serverURL leads to and
// returns its address. The database sorts text as people do (en-US) unless a
// column says otherwise, so that a column without byte order shows in tests.
func Create(ctx context.Context, serverURL, name string) (string, error) {
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	err = exec(ctx, serverURL, name, "CREATE DATABASE "+name+
		" TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LC_COLLATE 'C' LC_CTYPE 'C'")
	if err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Drop removes the database and whoever is connected to it.
func Drop(ctx context.Context, serverURL, name string) error {
	if err := exec(ctx, serverURL, name, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// Disconnect ends every session of the database, as a restarted server would.
func Disconnect(ctx context.Context, serverURL, name string) error {
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return fmt.Errorf("disconnect database %s: %w", name, err)
	}
	_, err = conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	return errors.Join(err, conn.Close(ctx))
}

func exec(ctx context.Context, serverURL, name, statement string) error {
	if !goodName.MatchString(name) {
		return fmt.Errorf("bad database name %q", name)
	}
	conn, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}
