package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// records are what no route shows, read from the database itself.
type records struct {
	Live     int // runs that have not ended
	Runs     []Run
	Owners   map[string]int // how many runs somebody had
	Accounts map[string]attempts
	Ledger   map[string]entries // by the user's key
}

// attempts is what is known of an account's PINs.
type attempts struct {
	Failures int
	Until    int64 // of the lock, in milliseconds
}

// entries is what the entries of an account of credits add up to.
type entries struct {
	Granted, Spent int64
	Uses           int
}

// readRecords reads them all.
func readRecords(ctx context.Context, address string) (_ records, err error) {
	db, err := sqldb.Open(ctx, address, sqldb.Options{MaxReaders: 2})
	if err != nil {
		return records{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := records{Owners: map[string]int{}, Accounts: map[string]attempts{}, Ledger: map[string]entries{}}
	for _, step := range []struct {
		query string
		row   func(scan func(...any) error) error
	}{
		{`SELECT id, session_id, status, owner, ended_ms FROM oracle_runs`, r.run},
		{`SELECT a.id, COALESCE(SUM(t.failures), 0), COALESCE(MAX(t.locked_until_ms), 0) FROM ussd_accounts a
			LEFT JOIN ussd_attempts t ON t.subject = a.id GROUP BY a.id`, r.account},
		{`SELECT key, value FROM oracle_plugin_keys WHERE plugin = 'credits' AND key >= 'e/' AND key < 'f'`, r.entry},
	} {
		rows, err := db.Read().QueryContext(ctx, step.query)
		if err != nil {
			return r, err
		}
		for rows.Next() && err == nil {
			err = step.row(rows.Scan)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *records) run(scan func(...any) error) error {
	var one Run
	var owner string
	var ended int64
	if err := scan(&one.ID, &one.Session, &one.Status, &owner, &ended); err != nil {
		return err
	}
	r.Runs = append(r.Runs, one)
	r.Owners[owner]++
	if ended == 0 {
		r.Live++
	}
	return nil
}

func (r *records) account(scan func(...any) error) error {
	var id string
	var a attempts
	if err := scan(&id, &a.Failures, &a.Until); err != nil {
		return err
	}
	r.Accounts[id] = a
	return nil
}

func (r *records) entry(scan func(...any) error) error {
	var key string
	var value []byte
	if err := scan(&key, &value); err != nil {
		return err
	}
	var one struct {
		Kind   string
		Amount int64
	}
	if err := json.Unmarshal(value, &one); err != nil {
		return err
	}
	user, _, _ := strings.Cut(strings.TrimPrefix(key, "e/"), "/")
	sum := r.Ledger[user]
	switch one.Kind {
	case "grant":
		sum.Granted += one.Amount
	case "use":
		sum.Uses++
		sum.Spent += one.Amount
	}
	r.Ledger[user] = sum
	return nil
}

// readerChild tells this very program to read the records of a database and to
// print them: SQLite's files are where only the stage sees them.
const readerChild = "CASTALIA_FAULTS_READ"

func beReader() {
	address := os.Getenv(readerChild)
	if address == "" {
		return
	}
	r, err := readRecords(context.Background(), address)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
